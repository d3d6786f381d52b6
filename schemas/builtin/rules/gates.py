"""Feature gates that the table names with `gate=`, and their defaults."""

from inkube.schemas import caches
from inkube.schemas.builtin.rules import table


@caches.of_values(1)
def _stages() -> dict[str, list[tuple[int, bool]]]:
    """Return gate → (minor, whether it is on from that minor), the newest first."""
    found = {}
    for line in (table.FOLDER / "gates.txt").read_text(encoding="utf-8").splitlines():
        name, *stages = line.partition("#")[0].split() or [""]
        if name:
            found[name] = sorted((_stage(stage) for stage in stages), reverse=True)
    return found


def _stage(text: str) -> tuple[int, bool]:
    """Return the minor and the state of a text: `1.34:on` → (34, True)."""
    version, _, state = text.partition(":")
    return int(version.removeprefix("1.")), state == "on"


def is_on(name: str, minor: int) -> bool:
    """Return whether a gate is on by default in a minor. Raises KeyError for an unknown one."""
    return next((on for since, on in _stages()[name] if minor >= since), False)
