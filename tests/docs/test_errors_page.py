"""Every text on docs/errors.md is one that inkube prints or returns."""

import re

import pages

PAGE = (pages.ROOT / "docs" / "errors.md").read_text()
TEXTS = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


def test_every_text_exists_in_the_code() -> None:
    assert len(TEXTS) >= 20
    folders = ("apiserver", "controllers", "schemas", "storage")
    files = [path for folder in folders for path in (pages.ROOT / folder).rglob("*.py")]
    # a text may continue in the next string literal
    code = "\n".join(re.sub(r'"\s*\n\s*f?"', "", path.read_text()) for path in files)
    assert [text for text in TEXTS if text not in code] == []


def test_every_text_stands_there_once() -> None:
    assert len(TEXTS) == len(set(TEXTS))
