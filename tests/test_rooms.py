"""What keeps the rooms apart where import-linter does not look: circles, and questions."""

import re
import sys
from pathlib import Path

import pytest
from circles import circle

ROOT = Path(__file__).parent.parent
APISERVER = ROOT / "apiserver"


@pytest.mark.parametrize("folder", ["apiserver", "storage", "controllers", "schemas"])
def test_no_modules_import_each_other_in_a_circle_not_even_for_their_types(folder: str) -> None:
    assert circle(f"inkube.{folder}") == []


def test_a_circle_that_type_checking_hides_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ring.two import Two\n"
    )
    (package / "two.py").write_text("def made():\n    from ring import one\n    return one\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert set(circle("ring")) == {"ring.one", "ring.two"}
    finally:
        sys.modules.pop("ring", None)


_QUESTION = re.compile(
    r"\.builtin\b|\bOrigin\.|\.origin\b|isinstance\(.*(Behaviour|Voice)|voice is"
)
_ANSWERS = {"behaviours.py", "voices.py", "crds.py"}


def test_hardly_anybody_asks_what_sort_of_kind_this_is() -> None:
    asked = [
        f"{file.relative_to(APISERVER)}:{number}: {line.strip()}"
        for file in APISERVER.rglob("*.py")
        if not (file.parent.name == "registry" and file.name in _ANSWERS)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if _QUESTION.search(re.sub(r"`[^`]*`|schemas\.builtin", "", line))
    ]
    assert len(asked) <= 5, "\n".join(asked)


def test_of_documents_and_files_hardly_anybody_asks_either() -> None:
    asked = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("schemas", "controllers", "apiserver")
        for file in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"\.origin (is|in|==|!=) ", line)
    ]
    assert len(asked) <= 5, "\n".join(asked)
