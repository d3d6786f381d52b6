"""The health check of the image: exits with code 0 if the server in its kubeconfig is ready."""

import os
import ssl
import sys
import urllib.request
from base64 import b64decode
from pathlib import Path
from urllib.parse import urlsplit

import yaml


def main() -> int:
    config = yaml.safe_load(
        Path(os.environ.get("INKUBE_DATA", "/data"), "kubeconfig").read_text(encoding="utf-8")
    )
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    address = urlsplit(cluster["server"])
    authority = cluster.get("certificate-authority-data")
    context = (
        ssl.create_default_context(cadata=b64decode(authority).decode()) if authority else None
    )
    request = urllib.request.Request(
        f"{address.scheme}://localhost:{address.port}/readyz",
        headers={"Authorization": f"Bearer {user['token']}"},
    )
    with urllib.request.urlopen(request, timeout=4, context=context) as response:
        return 0 if response.status == 200 else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, LookupError) as error:
        sys.exit(f"not ready: {error}")
