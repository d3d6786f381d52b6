"""Splits inkube's wheel into four: inkube, and inkube-provisioning, -workloads and -porch.

    python tools/wheels.py FOLDER [WHEEL]

The modules import only public modules of inkube and the doors of each other, so each of them can be
a distribution of its own. inkube is published as one wheel that contains them. This shows that they
are plugs: `tests/test_modules_are_plugs.py` installs the wheels one after the other.
"""

import base64
import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = {
    "inkube-provisioning": ("provisioning", "world", "faults"),
    "inkube-workloads": ("workloads",),
    "inkube-porch": ("porch",),
}
"""Distribution → its rooms of `controllers`."""
NEEDS = {"inkube-porch": ("inkube-provisioning", "inkube-workloads")}
LIBRARIES = {"inkube-provisioning": "dulwich", "inkube-porch": "ruamel-yaml"}
"""Distribution → the library that inkube itself does not need."""
_ENTRY = re.compile(r"^(\w+) = inkube\.controllers\.(\w+):\w+$", re.MULTILINE)


def split(wheel: Path, folder: Path) -> list[Path]:
    """Write the four wheels to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    info = next(name.split("/")[0] for name in files if ".dist-info/" in name)
    version = info.removesuffix(".dist-info").rpartition("-")[2]
    metadata = files.pop(f"{info}/METADATA")
    entries = files.pop(f"{info}/entry_points.txt").decode()
    tag = files.pop(f"{info}/WHEEL")
    del files[f"{info}/RECORD"]
    libraries: dict[str, str] = {}
    found = []
    for name, library in LIBRARIES.items():
        metadata, libraries[name] = _without(metadata, library)
    for name, rooms in PARTS.items():
        own = {each: files.pop(each) for each in sorted(files) if _is_of(each, rooms)}
        lines = [each[0] for each in _ENTRY.finditer(entries) if each[2] in rooms]
        entries = "\n".join(line for line in entries.split("\n") if line not in lines)
        needs = (f"inkube=={version}", *(f"{each}=={version}" for each in NEEDS.get(name, ())))
        about = ["Metadata-Version: 2.3", f"Name: {name}", f"Version: {version}"]
        about += [f"Requires-Dist: {each}" for each in needs]
        about += [line for line in [libraries.get(name)] if line]
        metadata = _with_extra(metadata, name, version)
        own |= {
            "METADATA": "\n".join((*about, "")).encode(),
            "WHEEL": tag,
            "entry_points.txt": "\n".join(("[inkube.modules]", *lines, "")).encode(),
        }
        found.append(_write(folder, name, version, own))
    info_files = {"METADATA": metadata, "WHEEL": tag, "entry_points.txt": entries.encode()}
    return [_write(folder, "inkube", version, {**files, **info_files}), *found]


def _without(metadata: bytes, library: str) -> tuple[bytes, str]:
    """Return the metadata without a required library, and the line that requires it."""
    lines = metadata.decode().split("\n")
    [required] = [
        each for each in lines if re.match(rf"Requires-Dist: {re.escape(library)}\b", each)
    ]
    return "\n".join(each for each in lines if each != required).encode(), required


def _with_extra(metadata: bytes, name: str, version: str) -> bytes:
    """Let the extra with the name of a module install its distribution."""
    extra = f"Provides-Extra: {name.removeprefix('inkube-')}\n"
    needs = f"Requires-Dist: {name}=={version}; extra == '{name.removeprefix('inkube-')}'\n"
    assert extra in metadata.decode(), "pyproject.toml names an extra for each module"
    return metadata.decode().replace(extra, extra + needs).encode()


def _is_of(file: str, rooms: tuple[str, ...]) -> bool:
    places = [f"inkube/controllers/{room}" for room in rooms]
    places += [f"inkube/apiserver/modules/builtin/{room}" for room in rooms]
    return any(file.startswith((f"{place}/", f"{place}.")) for place in places)


def _write(folder: Path, name: str, version: str, files: dict[str, bytes]) -> Path:
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    whole = {each if "/" in each else f"{stem}.dist-info/{each}": files[each] for each in files}
    record = [f"{each},{_hash(content)},{len(content)}" for each, content in whole.items()]
    record.append(f"{stem}.dist-info/RECORD,,\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in whole.items():
            archive.writestr(each, content)
        archive.writestr(f"{stem}.dist-info/RECORD", "\n".join(record))
    return path


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def build(folder: Path) -> Path:
    """Build the one wheel of inkube in a folder."""
    options = "--no-deps", "--no-build-isolation", "-q", "-w", str(folder)
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    [wheel] = folder.glob("inkube-*.whl")
    return wheel


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "whole").mkdir(parents=True, exist_ok=True)
    source = Path(sys.argv[2]) if len(sys.argv) > 2 else build(target / "whole")
    for path in split(source, target):
        print(path.name, f"{path.stat().st_size / 1e6:.2f} MB")
