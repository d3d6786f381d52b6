"""The table of switches is complete: each option that only makes the server faster is in it."""

import ast
import inspect
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import inkube
from inkube.apiserver import configuration
from inkube.apiserver.configuration import Options
from inkube.apiserver.switches import SWITCHES, Switch

APISERVER = Path(inkube.__file__).parent / "apiserver"
ONLY_FASTER = "Responses are the same"
"""What the description of an option says if it only makes the server faster."""


def _descriptions() -> dict[str, str]:
    """The description of each option."""
    [options] = [
        node
        for node in ast.parse(inspect.getsource(configuration)).body
        if isinstance(node, ast.ClassDef) and node.name == Options.__name__
    ]
    told = {}
    for option, text in zip(options.body, options.body[1:], strict=False):
        if isinstance(option, ast.AnnAssign) and isinstance(text, ast.Expr):
            told[ast.unparse(option.target)] = " ".join(ast.literal_eval(text.value).split())
    return told


def test_the_table_has_every_option_that_only_makes_the_server_faster() -> None:
    found = {option for option, text in _descriptions().items() if ONLY_FASTER in text}
    assert found == {switch.option for switch in SWITCHES}


@pytest.mark.parametrize("switch", SWITCHES, ids=[each.option for each in SWITCHES])
def test_a_switch_disables_what_is_enabled_by_default(switch: Switch) -> None:
    [default] = [field.default for field in fields(Options) if field.name == switch.option]
    assert default != switch.off
    disabled: dict[str, Any] = {switch.option: switch.off}
    assert getattr(Options(**disabled), switch.option) == switch.off


@pytest.mark.parametrize("switch", SWITCHES, ids=[each.option for each in SWITCHES])
def test_a_switch_says_where_its_code_is_and_what_it_saves(switch: Switch) -> None:
    assert (APISERVER / switch.room).exists()
    assert any(int(word) >= 10 for word in switch.saves.split() if word.isdigit())
    assert date.fromisoformat(switch.measured) >= date(2026, 11, 1)
