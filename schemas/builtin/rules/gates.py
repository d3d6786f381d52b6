"""Feature gates that the table names with `gate=`, and their defaults."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar

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


_OWN: ContextVar[Mapping[str, bool]] = ContextVar("own")


@contextlib.contextmanager
def overridden(own: Mapping[str, bool]) -> Iterator[None]:
    """In the block, these gates have other states, in all minors that know them. It is for a
    process that serves nothing else: the rules are compiled again."""
    if not own:
        yield
        return
    before = _OWN.set(own)
    caches.empty_all()
    try:
        yield
    finally:
        _OWN.reset(before)
        caches.empty_all()


def known() -> Collection[str]:
    """Return the names of all gates."""
    return _stages().keys()


def is_on(name: str, minor: int) -> bool:
    """Return whether a gate is on in a minor. Raises KeyError for an unknown one."""
    state = default(name, minor)
    return False if state is None else _OWN.get({}).get(name, state)


def default(name: str, minor: int) -> bool | None:
    """Return whether a gate is on by default in a minor, None if it does not know the gate. Raises
    KeyError for a gate of no minor."""
    return next((on for since, on in _stages()[name] if minor >= since), None)
