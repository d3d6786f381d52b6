"""The table of switches is complete: each option that only makes the server faster is in it."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import inkube
from inkube.apiserver.configuration import OWN, Options
from inkube.apiserver.switches import SWITCHES, Switch

APISERVER = Path(inkube.__file__).parent / "apiserver"
ONLY_FASTER = "Responses are the same"
"""What the description of an option says if it only makes the server faster."""


def test_the_table_has_every_option_that_only_makes_the_server_faster() -> None:
    found = {option.name for option in OWN.values() if ONLY_FASTER in option.help}
    assert found == {switch.option for switch in SWITCHES}


@pytest.mark.parametrize("switch", SWITCHES, ids=[each.option for each in SWITCHES])
def test_a_switch_disables_what_is_enabled_by_default(switch: Switch) -> None:
    assert OWN[switch.option].default != switch.off
    disabled: dict[str, Any] = {switch.option: switch.off}
    assert getattr(Options(**disabled), switch.option) == switch.off


@pytest.mark.parametrize("switch", SWITCHES, ids=[each.option for each in SWITCHES])
def test_a_switch_names_its_code_and_its_saving(switch: Switch) -> None:
    assert (APISERVER / switch.room).exists()
    assert any(int(word) >= 10 for word in switch.saves.split() if word.isdigit())
    assert date.fromisoformat(switch.measured) >= date(2026, 11, 1)
