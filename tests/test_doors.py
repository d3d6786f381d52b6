"""Rooms are imported only by their public names (doors): those in `__init__`."""

import re
from pathlib import Path

import pytest
from doors import ROOTS, House, by_room

ROOT = Path(__file__).parent.parent


def test_others_import_what_a_room_offers() -> None:
    told = "\n".join(map(str, House(ROOT).deep()))
    assert not told, f"offer these names in the stub of the room, and import the room:\n{told}"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A source tree with one room, which exports one name, and code outside of it."""
    room = tmp_path / "schemas" / "room"
    room.mkdir(parents=True)
    (tmp_path / "schemas" / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "__init__.pyi").write_text("from inkube.schemas.room.inner import known as known\n")
    (room / "inner.py").write_text("known = other = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from inkube.schemas.room import known", 0),
        ("from inkube.schemas import room", 0),
        ("from inkube.schemas.room.inner import known", 1),
        ("from inkube.schemas.room.inner import known, other", 2),
        ("from inkube.schemas.room import inner", 1),
        ("import inkube.schemas.room.inner", 1),
    ],
)
def test_an_import_past_a_door_is_found(house: Path, text: str, count: int) -> None:
    (house / "schemas" / "outside.py").write_text(text + "\n")
    assert by_room(House(house).deep()) == ({"schemas.room": count} if count else {})


def test_a_room_may_look_into_itself(house: Path) -> None:
    (house / "schemas" / "room" / "more.py").write_text(
        "from inkube.schemas.room.inner import other\n"
    )
    assert House(house).deep() == []


def test_no_room_imports_itself() -> None:
    """A module that only some requests need is in a room of its own below, which loads it late."""
    own = [str(each) for each in House(ROOT).of_itself()]
    assert own == []


def test_an_import_of_the_own_room_is_found(house: Path) -> None:
    (house / "schemas" / "room" / "more.py").write_text("from inkube.schemas import room\n")
    assert [each.name for each in House(house).of_itself()] == ["inkube.schemas.room"]


_FACADES = {"apiserver.testing"}
"""Rooms that gather names of others for users."""


def test_a_stub_names_what_is_in_its_room() -> None:
    foreign = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in ROOT.glob("*/**/__init__.pyi")
        if (room := ".".join(path.relative_to(ROOT).parts[:-1])) not in _FACADES
        and room.split(".")[0] in ROOTS
        for module, name in re.findall(r"^from (\S+) import (\w+)", path.read_text(), re.MULTILINE)
        if module != f"inkube.{room}" and not module.startswith(f"inkube.{room}.")
    ]
    assert foreign == []


def test_no_module_hides_a_name_of_its_room() -> None:
    assert House(ROOT).hidden() == []


def test_a_hidden_name_is_found(house: Path) -> None:
    (house / "schemas" / "room" / "known.py").touch()
    assert House(house).hidden() == ["inkube.schemas.room.known"]
