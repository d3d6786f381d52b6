"""What docs/pytest.md shows runs as it stands there."""

import re
from pathlib import Path

from inkube.apiserver.pytest_plugin import MARKERS

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[3] / "docs" / "pytest.md"


def test_the_examples_of_the_page_pass(run):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    result = run("\n".join(blocks))
    result.assert_outcomes(passed=4)


def test_every_marker_is_on_the_page():
    page = PAGE.read_text()
    for marker in MARKERS:
        assert f"| `{re.split('[(:]', marker)[0]}" in page
