"""`inkube validate`: errors of files with their places."""

import json

import pytest
from click.testing import CliRunner

from inkube.apiserver.commands.validate import validate_command

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
"""
BOAT = """\
apiVersion: example.com/v1
kind: Boat
metadata: {name: a}
spec:
  size: %s
"""


@pytest.fixture
def run(tmp_path):
    """Write files by name, run the command in their folder: (exit code, output lines)."""

    def command(*arguments, stdin=None, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        paths = [
            argument if argument.startswith("-") else str(tmp_path / argument)
            for argument in arguments
        ]
        result = CliRunner().invoke(validate_command, paths, input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, result.stdout.replace(f"{tmp_path}/", "").splitlines()

    return command


def test_valid_files_pass_in_silence(run):
    assert run("all.yaml", all=f"{CRD}---\n{BOAT % 3}") == (0, [])


def test_an_error_names_file_line_object_and_field(run):
    code, lines = run("boats.yaml", "--definitions", "crd.yaml", crd=CRD, boats=BOAT % "big")
    assert code == 1
    assert lines == [
        (
            'boats.yaml:5: Boat a: spec.size: Invalid value: "string": '
            'spec.size in body must be of type integer: "string"'
        )
    ]


def test_every_document_and_every_error_counts(run):
    two = f"{BOAT % 0}  colour: red\n---\n{BOAT % 3}---\n{BOAT % 'null'}"
    code, lines = run(".", boats=two, crd=CRD)
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == [
        "boats.yaml:6",
        "boats.yaml:5",
        "boats.yaml:18",
    ]


def test_json_output_has_all_there_is(run):
    code, lines = run("-ojson", "crd.yaml", crd=CRD.replace("type: integer", "type: int"))
    assert code == 1
    shown = json.loads("\n".join(lines))
    assert shown["documents"] == 1
    assert shown["errors"] == [
        {
            "file": "crd.yaml",
            "document": 1,
            "line": 20,
            "subject": "CustomResourceDefinition boats.example.com",
            "field": "spec.validation.openAPIV3Schema.properties[spec].properties[size].type",
            "type": "FieldValueNotSupported",
            "message": (
                'Unsupported value: "int": supported values: "array", "boolean", "integer", '
                '"number", "object", "string"'
            ),
        }
    ]


def test_a_change_is_forgiven_what_was_wrong_before(run):
    files = {"crd": CRD, "old": BOAT % 0, "new": BOAT % 0}
    assert run("new.yaml", "-d", "crd.yaml", **files)[0] == 1
    assert run("new.yaml", "-d", "crd.yaml", "--old", "old.yaml", **files) == (0, [])


def test_standard_input_and_lists_are_read(run):
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "example.com/v1"}]}
    listed["items"][0] |= {"kind": "Boat", "metadata": {"name": "a"}, "spec": {"size": 0}}
    code, lines = run("-", "-d", "crd.yaml", crd=CRD, stdin=json.dumps(listed))
    assert code == 1
    assert [line.split(": ")[:3] for line in lines] == [["<stdin>:1", "Boat a", "spec.size"]]


def test_what_no_definition_knows_is_an_error(run):
    code, lines = run("boat.yaml", boat=BOAT % 3)
    assert code == 1
    assert lines == ['boat.yaml:1: Boat a: no matches for kind "Boat" in version "example.com/v1"']


def test_unknown_fields_are_warned_of_unless_strictness_is_asked_for(run):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate:\n  a: b\n"
    assert run("map.yaml", map=text) == (
        0,
        ['map.yaml:4: ConfigMap a: date: warning: unknown field "date"'],
    )
    assert run("map.yaml", "--strict", map=text) == (
        1,
        ['map.yaml:4: ConfigMap a: date: unknown field "date"'],
    )


SCALED = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rafts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: rafts, kind: Raft}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
"""


@pytest.mark.parametrize(
    ("raft", "expected"),
    [
        ("metadata: {generateName: r-}", []),
        ("metadata: {generateName: R-}", ["metadata.name"]),
        ("metadata: {name: a}\nstatus: {replicas: none}", []),
        ("metadata: {name: a}\nspec: {replicas: -1}", [".spec.replicas"]),
    ],
)
def test_what_a_server_takes_is_taken(run, raft, expected):
    text = f"apiVersion: example.com/v1\nkind: Raft\n{raft}\n"
    code, lines = run("raft.yaml", "-d", "crd.yaml", crd=SCALED, raft=text)
    assert [line.split(": ")[2] for line in lines] == expected
    assert code == bool(expected)


def test_broken_yaml_is_an_error_of_its_document_alone(run):
    code, lines = run("all.yaml", all=f"{CRD}---\na: [\n---\n{BOAT % 3}")
    assert code == 1
    assert len(lines) == 1
    assert "did not find expected node content" in lines[0]


def test_a_missing_file_is_said_to_be_missing(run):
    code, lines = run("nowhere.yaml")
    assert (code, lines) == (1, [])
