"""The commands that a starting server prints can be pasted into a shell, whatever is in them."""

import subprocess
from pathlib import Path

import pytest

from inkube.apiserver.access import kubeconfig
from inkube.apiserver.commands import terminal

TOKENS = ("plain", "-starts-with-a-dash", "0123", "1e3", "true", "a_b-C", "null", "9-_x", "no")
FOLDERS = ("plain", "with a space", "it's", "$HOME", "a`b", 'say "so"', "back\\slash")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_printed_token_is_the_one_of_the_kubeconfig(tmp_path: Path, folder: str) -> None:
    where = tmp_path / folder
    where.mkdir()
    config = where / "inkube.kubeconfig"
    for token in TOKENS:
        url = "https://127.0.0.1:6443"
        kubeconfig.write(config, kubeconfig.render(kubeconfig.Access(url, token, b"authority")))
        lines = terminal.welcome(
            url, config, storage_text="", authority=where / "ca.crt", has_token=True
        )
        exported, address, curl = [
            line.strip() for line in lines if line.strip().startswith(("export ", "curl "))
        ]
        script = "\n".join((exported, address, "curl() { printf '%s\\n' \"$@\"; }", curl))
        output = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        assert output.stdout.splitlines() == [
            "--cacert", str(where / "ca.crt"), "-H", f"Authorization: Bearer {token}",
            f"{url}/apis",
        ]  # fmt: skip
