"""YAML responses: every text is read as itself, in the style of Go's YAML."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from inkube.apiserver.http.encodings import yamls
from inkube.schemas.golang import goyaml

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"))


@given(value=st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.booleans() | st.none()))
def test_go_reads_what_it_wrote(value):
    assert goyaml.loads(yamls.write(value)).value == value


@given(text=st.from_regex(r"[-+0-9eExXobTZ:._~yYnNtruefalsn]{1,12}", fullmatch=True))
def test_texts_that_look_like_other_types_stay_texts(text):
    assert goyaml.loads(yamls.write({"a": text})).value == {"a": text}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *((text, f'"{text}"') for text in (
            "y", "n", "yes", "NO", "off", "true", "null", "~", "", "1", "1e3", "0o17", "0x1f",
            "1_000", "012", "+1", ".5", ".inf", "1:30", "2020-01-01", "2020-01-01T00:00:00Z",
        )),
        *((text, text) for text in (
            ".1_2", "._5", "=", "<<", "a b", "1.2.3", "2020-13-01", "v1", "a:b", "nil",
        )),
        *((text, f"'{text}'") for text in ("a: b", "- x", "{a}", "# x", " lead", "trail ")),
        ("two\nlines", "|-\n  two\n  lines"), ("ends\n", "|\n  ends"),
    ],
)  # fmt: skip
def test_the_style_depends_on_the_text(text, written):
    assert yamls.write({"k": text}).decode() == f"k: {written}\n"


@pytest.mark.parametrize("start", ["", "y: ", "'"])
def test_long_texts_are_folded_at_spaces(start):
    text = start + " ".join(["word"] * 60)
    lines = yamls.write({"k": text}).decode().splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 90 for line in lines)
    assert yaml.safe_load("\n".join(lines)) == {"k": text}


@pytest.mark.parametrize(
    "keys",
    [
        ["", "1", "2", "10", "a"],
        ["a", "a1", "a2", "a10", "a10b", "ab"],
        ["-", ".", "/", "_", "0", "9", "a", "é"],
        ['k:{"port":80}', 'k:{"port":443}', "k:{a"],
        ["_a", "A", "a"],
        ["1.2", "1.10", "1a"],
        ["v1", "v01", "v2", "v10"],
        ["n20", "n100"],
    ],
)
def test_keys_are_sorted_as_go_sorts_them(keys):
    """Digits are numbers, and letters are last (go.yaml.in/yaml/v2 sorter.go)."""
    for order in (keys, keys[::-1]):
        written = yamls.write({"k": dict.fromkeys(order, 1)})
        assert list(goyaml.loads(written).value["k"]) == keys
