"""The entry point of the image: create a token file at the first start, then run `inkube serve`.

Arguments are those of `inkube serve`. Environment:

    INKUBE_DATA     the folder for data, tokens and kubeconfig (/data)
    INKUBE_TOKEN    the administrator's token; default: a random one, created once
    INKUBE_PORT     the port (8001)
"""

import os
import secrets
import sys
from pathlib import Path


def main() -> None:
    data = Path(os.environ.get("INKUBE_DATA", "/data"))
    tokens = data / "tokens.csv"
    token = os.environ.get("INKUBE_TOKEN", "")
    if token or not tokens.exists():
        descriptor = os.open(tokens, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(f'{token or secrets.token_urlsafe(32)},admin,admin,"system:masters"\n')
    given = sys.argv[1:]
    stored = () if "--in-memory" in given or "--database" in given else ("--data", "inkube.db")
    command = [
        sys.executable, "-m", "inkube", "serve",
        "--host", "0.0.0.0", "--port", os.environ.get("INKUBE_PORT", "8001"),
        "--token-auth-file", str(tokens), "--kubeconfig", str(data / "kubeconfig"),
        *stored, *given,
    ]  # fmt: skip
    os.chdir(data)
    os.execv(sys.executable, command)  # the server gets the signals of the container


if __name__ == "__main__":
    main()
