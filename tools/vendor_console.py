"""Fetches the libraries of the console from npm into `apiserver/console/assets/vendor`.

    python tools/vendor_console.py

Each is one ES module of its package. Browsers need an import map for names without a path, and the
console's policy allows none, so `from "preact"` becomes `from "./preact.js"`. The licenses are
stored next to the modules.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parent.parent / "apiserver/console/assets/vendor"
PACKAGES = {
    "preact@11.2.0": {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js"},
    "htm@3.1.1": {"dist/htm.mjs": "htm.js"},
    "js-yaml@5.5.0": {"dist/browser/js-yaml.esm.min.mjs": "js-yaml.js"},
}


def main() -> None:
    licences = []
    VENDOR.mkdir(parents=True, exist_ok=True)
    for package, files in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
            source = Path(folder) / "package"
            for inside, name in files.items():
                text = (
                    (source / inside)
                    .read_text("utf-8")
                    .replace('from"preact"', 'from"./preact.js"')
                )
                lines = [line for line in text.split("\n") if not line.startswith("//# source")]
                (VENDOR / name).write_text("\n".join(lines).rstrip("\n") + "\n", "utf-8")
            names = ", ".join(files.values())
            licence = (source / "LICENSE").read_text().strip()
            licences.append(f"{names}: {package}\n\n{licence}\n")
    rule = f"\n{'-' * 72}\n\n"
    (VENDOR / "LICENSES.txt").write_text(rule.join(licences))


if __name__ == "__main__":
    main()
