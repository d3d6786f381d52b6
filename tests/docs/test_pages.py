"""Every page of docs/ and README is correct: its commands, programs and tests are run."""

import shutil
from pathlib import Path

import pages
import pytest

DOCS = pages.ROOT / "docs"
ELSEWHERE = {
    "../README.md": "tests/docs/test_readme.py",
    "aggregation.md": "tests/apiserver/aggregation/test_the_page.py",
    "envtest.md": "tests/apiserver/envtest/test_envtest_page.py",
    "kinds.md": "tests/controllers/test_page_of_own_kinds.py",
    "pytest.md": "tests/apiserver/testing/test_fixture_docs.py",
    "recording.md": "tests/apiserver/capture/test_recording_page.py",
    "time-travel.md": "tests/apiserver/commands/test_history_commands.py",
    "workloads/hub.md": "tests/controllers/workloads/test_pages_of_integrations.py",
    "workloads/operators.md": "tests/controllers/workloads/test_pages_of_integrations.py",
    "workloads/workflows.md": "tests/controllers/workloads/test_pages_of_integrations.py",
}
"""Pages with their own test. Every other page is run here."""
FOUND = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if "fields" not in path.parts  # generated from code
} | {"../README.md": pages.ROOT / "README.md"}
RUN = [name for name in FOUND if name not in ELSEWHERE]


@pytest.mark.parametrize("name", [name for name in RUN if "```" in FOUND[name].read_text()])
def test_the_commands_and_programs_of_a_page_work(name: str, tmp_path: Path) -> None:
    page = FOUND[name].read_text()
    if package := pages.missing(page):
        pytest.skip(f"{package} is not installed")
    absent = [tool for tool in ("kubectl", "curl", "node") if tool in pages.tools(page)]
    if absent := [tool for tool in absent if shutil.which(tool) is None]:
        pytest.skip(f"{', '.join(absent)}: not installed")
    with pages.Reader(tmp_path) as reader:
        reader.read(page)


def test_pages_with_tests_of_their_own_have_them() -> None:
    for name, test in ELSEWHERE.items():
        assert name in FOUND
        assert Path(name).name in (pages.ROOT / test).read_text()


PAGE = """
```yaml title="a/b.yaml"
kind: A
```
```console
$ cat a/b.yaml
kind: A
$ printf 'one\\ntwo\\nthree' && cat <<'E'
> four
> E
one
...
th...four
$ X=5
$ echo $X; false
5
```
```sh
export X=6
test $X = 6
```
<!-- not run: there is no such shell -->
```fish
echo
```
"""


def test_a_reader_types_what_is_there_and_reads_what_comes(tmp_path: Path) -> None:
    with pages.Reader(tmp_path) as reader:
        reader.read(PAGE)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (PAGE.replace("kind: A\n$", "kind: B\n$"), "line 6: cat a/b.yaml\nit prints\nkind: A"),
        ("```console\n$ true\n$ echo a\n```\n", "line 3: echo a"),
        ("```python\n1 / 0\n```\n", "line 1: the program fails"),
        ("```python\ndef test_it():\n    assert False\n```\n", "its tests fail"),
        ("```sh\ntrue\nfalse\n```\n", "line 1: it fails"),
        ("```fish\nls\n```\n", "line 1: a block of 'fish' is run by nobody"),
        ("```json\n{\n```\n", "line 1: no json"),
    ],
)
def test_a_wrong_page_is_reported_with_its_line(page, told, tmp_path: Path) -> None:
    with pages.Reader(tmp_path) as reader, pytest.raises(pages.PageError) as raised:
        reader.read(page)
    assert str(raised.value).startswith(told)
