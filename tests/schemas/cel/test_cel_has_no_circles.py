"""No two modules of CEL need each other."""

import sys
from pathlib import Path

import pytest
from circles import circle


def test_no_modules_of_cel_import_each_other() -> None:
    assert circle("inkube.schemas.cel") == []


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
