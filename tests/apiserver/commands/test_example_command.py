"""`inkube example`: lists examples, writes them, and overwrites no files."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from inkube.apiserver.cli import main
from inkube.apiserver.commands.example import EXAMPLES, names, title


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(main, ["example", *arguments])


def test_every_example_is_listed_with_its_title():
    done = run()
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == names()
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == set(names())
    assert title("boats") in done.stdout


@pytest.mark.parametrize("name", names())
def test_the_files_of_the_example_are_written_and_listed(name: str, folder: Path):
    done = run(name)
    assert done.exit_code == 0, done.stderr
    written = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert set(map(Path, done.stdout.splitlines())) == written
    assert not [path for path in written if "node_modules" in path.parts]
    for path in written:
        assert (folder / path).read_bytes() == (EXAMPLES / path).read_bytes()


def test_the_files_are_written_to_the_chosen_folder(folder: Path):
    assert run("boats", "deep/tour").exit_code == 0
    assert (folder / "deep" / "tour" / "definition.yaml").exists()


def test_the_command_succeeds_again_with_the_same_files(folder: Path):
    first = run("chaos")
    (folder / "chaos" / "__pycache__").mkdir()  # a run of the example's tests
    (folder / "chaos" / "notes.txt").write_text("mine\n")
    again = run("chaos")
    assert again.exit_code == 0, again.stderr
    assert again.stdout == first.stdout
    assert (folder / "chaos" / "notes.txt").read_text() == "mine\n"


@pytest.mark.parametrize("file", ["argo.yaml", "notes.txt"])
def test_a_folder_with_other_files_is_refused(folder: Path, file: str):
    (folder / "boats").mkdir()
    (folder / "boats" / file).write_text("mine\n")
    done = run("boats")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: boats is not empty, and README.md is missing\n")
    assert [path.name for path in (folder / "boats").iterdir()] == [file]


def test_changed_files_are_not_overwritten(folder: Path):
    run("boats")
    changed = folder / "boats" / "argo.yaml"
    changed.write_text("mine\n")
    done = run("boats")
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        "Error: boats is not empty, and argo.yaml is different",
        "choose another folder: inkube example boats FOLDER",
    ]
    assert changed.read_text() == "mine\n"


def test_an_unknown_name_gets_the_names_that_exist():
    done = run("boots")
    assert done.exit_code == 2
    assert "there is no example 'boots'; the examples are boats, " in done.stderr
