"""What docs/kinds.md shows runs as it stands there, and the page has a part for every feature."""

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
