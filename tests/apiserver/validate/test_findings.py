"""`inkube validate`: errors in files, with their line numbers."""

import json
import re

import boats
import pytest
from validating import runner

CRD = boats.text(
    """
type: object
properties:
  spec:
    type: object
    required: [size]
    properties:
      size: {type: integer, minimum: 1}
"""
)
BOAT = """\
apiVersion: example.com/v1
kind: Boat
metadata: {name: a}
spec:
  size: %s
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write files by name, run the command in their folder; return the exit code and the lines of
    the short report without codes."""
    monkeypatch.chdir(tmp_path)
    run = runner(tmp_path)

    def command(*arguments, stdin="", **files):
        named = {f"{name}.yaml": text for name, text in files.items()}
        done = run("-o", "short", *arguments, files=named, stdin=stdin)
        return done.code, [re.sub(r" \[[\w-]+\]$", "", line) for line in done.lines]

    return command


def test_valid_files_pass_in_silence(run):
    assert run("all.yaml", all=f"{CRD}---\n{BOAT % 3}") == (0, [])


def test_an_error_names_file_line_object_and_field(run):
    code, lines = run("boats.yaml", "--definitions", "crd.yaml", crd=CRD, boats=BOAT % "big")
    assert code == 1
    assert lines == [
        (
            'boats.yaml:5:9: Boat a: spec.size: Invalid value: "string": '
            'spec.size in body must be of type integer: "string"'
        )
    ]


def test_every_document_and_every_error_counts(run):
    second, third = (BOAT.replace("name: a", f"name: {name}") for name in "bc")
    two = f"{BOAT % 0}  colour: red\n---\n{second % 3}---\n{third % 'null'}"
    code, lines = run(".", boats=two, crd=CRD)
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == [
        "boats.yaml:5:9",
        "boats.yaml:6:3",
        "boats.yaml:18:9",
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
            "column": 28,
            "length": 3,
            "subject": "CustomResourceDefinition boats.example.com",
            "field": (
                "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type"
            ),
            "code": "not-supported",
            "type": "FieldValueNotSupported",
            "message": (
                'Unsupported value: "int": supported values: "array", "boolean", "integer", '
                '"number", "object", "string"'
            ),
            "value": "int",
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
    assert [line.split(": ")[:3] for line in lines] == [
        ["<stdin>:1:141", "Boat a", "items[0].spec.size"]
    ]


def test_what_no_definition_knows_is_an_error(run):
    code, lines = run("boat.yaml", boat=BOAT % 3)
    assert code == 1
    assert lines == [
        'boat.yaml:1:1: Boat a: no matches for kind "Boat" in version "example.com/v1"'
    ]


def test_unknown_fields_are_errors_or_warnings_on_request(run):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate:\n  a: b\n"
    assert run("map.yaml", map=text) == (
        1,
        ['map.yaml:4:1: ConfigMap a: date: unknown field "date"'],
    )
    assert run("map.yaml", "--warn-unknown", map=text) == (
        0,
        ['map.yaml:4:1: ConfigMap a: date: warning: unknown field "date"'],
    )


def test_repeated_keys_are_errors_too(run):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\ndata: {a: b}\n"
    told = 'line 5: key "data" already set in map'
    assert run("map.yaml", map=text) == (1, [f"map.yaml:5:1: ConfigMap a: {told}"])
    assert run("map.yaml", "--warn-unknown", map=text)[0] == 0


def test_a_warning_of_a_server_stays_a_warning(run):
    volume = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: a}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Recycle
  hostPath: {path: /tmp/a}
"""
    code, lines = run("a.yaml", "--strict", a=volume)
    assert code == 0
    assert [line.split(": ")[3] for line in lines] == ["warning"]


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


def test_a_missing_file_is_an_error_of_input(run):
    code, lines = run("nowhere.yaml")
    assert (code, lines) == (2, [])


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: %s}
    spec:
      containers:
      - name: c
        image: nginx
        bogus: 1
        ports:
        - {name: http, containerPort: 80}
        - {name: %s, containerPort: 81}
"""


def test_a_manifest_of_a_kind_of_kubernetes_is_judged_as_by_a_server(run):
    code, lines = run("d.yaml", d=DEPLOYMENT % ("other", "http"))
    assert code == 1
    place = "spec.template.spec.containers[0]"
    assert lines == [
        (
            "d.yaml:9:7: Deployment web: spec.template.metadata.labels: Invalid value: "
            '{"app":"other"}: `selector` does not match template `labels`'
        ),
        f'd.yaml:14:9: Deployment web: {place}.bogus: unknown field "{place}.bogus"',
        f'd.yaml:17:18: Deployment web: {place}.ports[1].name: Duplicate value: "http"',
    ]
    assert run("d.yaml", "--warn-unknown", d=DEPLOYMENT % ("web", "other"))[0] == 0


def test_a_change_of_what_is_stored_meets_the_rules_of_updates(run):
    old = (DEPLOYMENT % ("web", "other")).replace("        bogus: 1\n", "")
    code, lines = run(
        "--old", "old.yaml", "new.yaml", old=old, new=old.replace("app: web", "app: x")
    )
    assert (code, len(lines)) == (1, 1)
    assert lines[0].startswith("new.yaml:5:3: Deployment web: spec.selector: Invalid value: ")
    assert lines[0].endswith("field is immutable")
    new = old.replace("image: nginx", "image: httpd")
    assert run("--old", "old.yaml", "new.yaml", old=old, new=new) == (0, [])


def test_a_server_s_warnings_are_shown_at_their_fields(run):
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector:
    beta.kubernetes.io/os: linux
  containers: [{name: c, image: i, args: []}]
"""
    code, lines = run("p.yaml", p=pod)
    assert (code, len(lines)) == (0, 1)
    assert lines[0].startswith(
        "p.yaml:6:28: Pod p: spec.nodeSelector[beta.kubernetes.io/os]: warning: "
    )


REPOSITORY = """\
apiVersion: provisioning.grafana.app/v0alpha1
kind: Repository
metadata: {name: r}
spec:
  type: github
  title: ''
"""
REVISION = """\
apiVersion: porch.kpt.dev/v1alpha1
kind: PackageRevision
metadata: {name: r}
spec: {repository: a, packageName: b, workspaceName: 'C D'}
"""
FAULT = """\
apiVersion: world.inkube.dev/v1
kind: Fault
metadata: {name: f}
spec: {}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REPOSITORY, {"spec.title", "spec.github"}),
        (REVISION, {"spec.workspaceName"}),
        (FAULT, {"spec"}),
        (
            FAULT.replace("Fault", "Nothing"),
            {'no matches for kind "Nothing" in version "world.inkube.dev/v1"'},
        ),
    ],
)
def test_kinds_declared_in_python_are_judged_by_their_static_rules(run, text, expected):
    code, lines = run("r.yaml", r=text)
    assert code == 1
    assert expected <= {line.split(": ")[2] for line in lines}


SELECTS_OTHERS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers:
      - name: c
        image: i
        imagePullPolice: Always
"""


def test_findings_have_the_order_of_their_lines(run):
    _, lines = run("web.yaml", web=SELECTS_OTHERS)
    assert [line.split(": ")[0] for line in lines] == ["web.yaml:7:16", "web.yaml:12:9"]
    assert "unknown field" in lines[1]


def test_definitions_are_found_in_the_folder_of_their_objects(run):
    code, lines = run(".", a_boat=BOAT % 0, z_definition=CRD)
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == ["a_boat.yaml:5:9"]


def test_fields_without_values_are_missing_fields(run):
    text = SELECTS_OTHERS.replace("other", "web").replace("imagePullPolice: Always", "env:")
    assert run("web.yaml", web=text.replace("name: web}", "name: web, labels: null}")) == (0, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Pod\n", "a.yaml:1:1: Object 'apiVersion' is missing"),
        ("apiVersion: v1\n", "a.yaml:1:1: Object 'Kind' is missing"),
        (
            "apiVersion: v1\nkind: Pood\n",
            'a.yaml:1:1: Pood: no matches for kind "Pood" in version "v1"',
        ),
    ],
)
def test_what_is_not_an_object_is_an_error(run, text, expected):
    assert run("a.yaml", a=text) == (1, [expected])
