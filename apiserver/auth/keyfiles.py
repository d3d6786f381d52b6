"""Secret keys that lie in files beside the data, readable by their owner only."""

import os
import tempfile
from pathlib import Path


def load(data: Path | None, suffix: str, fresh: bytes) -> bytes:
    """The key beside a data file, put there when there is none; `fresh` without a file.

    It appears complete or not at all, so several processes may start on one file.
    """
    if data is None:
        return fresh
    path = data.with_name(f"{data.name}.{suffix}")
    if path.exists():
        return path.read_bytes()
    handle, draft = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(fresh)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_bytes()
    finally:
        os.unlink(draft)
    return fresh
