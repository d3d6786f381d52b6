"""The examples in docs/kinds.md work as written, and the page has a section for every feature."""

import dataclasses
import re
from pathlib import Path

from inkube.controllers.kinds import KindModule

PAGE = Path(__file__).parents[2] / "docs" / "kinds.md"


async def test_the_program_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    program = {"__name__": "page"}
    exec(compile("\n".join(blocks), PAGE, "exec"), program)
    await program["main"]()


def test_every_part_of_a_kind_is_on_the_page():
    page = PAGE.read_text()
    for field in dataclasses.fields(KindModule):
        assert re.search(rf"\b{field.name}\b", page) or field.name in ("model", "watches")


def test_every_part_of_provisioning_names_the_tests_that_hold_it():
    tests = Path(__file__).parent / "provisioning"
    rows = [
        line
        for line in PAGE.with_name("provisioning.md").read_text().splitlines()
        if "test_" in line
    ]
    named = {name for row in rows for name in re.findall(r"`([\w./]*test_\w+\.py)`", row)}
    assert len(rows) >= 18
    assert not [name for name in named if not (tests / name).exists()]
