"""A folder as it is: what is found, recognised and left out, and where its settings are."""

import contextlib
import gzip
import json
import os
from pathlib import Path

import pytest

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
BAD = MAP % "A"
"""A ConfigMap with a wrong name."""


def test_a_folder_is_searched_and_hidden_files_are_not(run):
    files = {
        "b/a.yml": BAD,
        "b/.hidden.yaml": BAD,
        ".github/a.yaml": BAD,
        "c.json": "{}",
        "d.txt": BAD,
    }
    done = run("-oshort", files=files)
    assert done.places == ["b/a.yml:3:18 invalid"]


@pytest.mark.parametrize(
    "pattern", ["b", "b/", "b/*", "**/a.yaml", "a.yaml", "b/**", "./b/a.yaml", "*/a.yaml"]
)
def test_patterns_leave_files_out(run, pattern):
    files = {"b/a.yaml": BAD, "c.yaml": MAP % "c"}
    assert run("--exclude", pattern, files=files) == (0, "", "1 document, 0 errors\n")


def test_kinds_are_left_out_by_name_or_by_version(run):
    files = {"a.yaml": f"{BAD}---\n{MAP % 'b'}"}
    for kind in ("ConfigMap", "v1/ConfigMap"):
        done = run("--skip", kind, "--allow-empty", files=files)
        assert (done.code, done.out) == (0, "")
        assert "skipped: 2 objects of a skipped kind" in done.err
    assert run("--skip", "v2/ConfigMap").code == 1


def test_unknown_kinds_are_left_out_on_request(run):
    files = {"a.yaml": "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: a}\n"}
    assert run(files=files).code == 1
    assert run("--ignore-missing-definitions").code == 0


@pytest.mark.parametrize("comment", ["# inkube: ignore", "# inkube: ignore[invalid, required]"])
def test_comments_ignore_findings_of_a_document_or_a_line(run, comment):
    assert run("a.yaml", files={"a.yaml": f"{comment}\n{BAD}"}).code == 0
    assert run("a.yaml", files={"a.yaml": BAD.replace("A}", f"A}} {comment}")}).code == 0
    assert run("a.yaml", files={"a.yaml": f"{BAD}---\n{comment}\n{MAP % 'b'}"}).code == 1


def test_a_comment_ignores_no_other_codes(run):
    text = f"# inkube: ignore[unknown-field, required]\n{BAD}"
    assert run("a.yaml", files={"a.yaml": text}).code == 1


KUSTOMIZATION = """\
resources: [a.yaml]
patches:
- path: patch.yaml
configMapGenerator:
- {name: c, files: [key=data.json]}
"""


def test_kustomizations_patches_and_their_inputs_are_named(run):
    files = {
        "kustomization.yaml": KUSTOMIZATION,
        "a.yaml": MAP % "a",
        "patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
        "data.json": '{"kind": "nothing"}',
        "patches/more.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
    }
    done = run(files=files)
    assert (done.code, done.out) == (0, "")
    assert done.err == "1 document, 0 errors, skipped: 3 patches, skipped: 1 kustomization\n"


def test_a_kustomization_completes_its_resources_but_forgives_no_unknown_field(run):
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  bogus: 1\n"
    files = {"kustomization.yaml": "resources: [a.yaml]\ncommonLabels: {app: a}\n", "a.yaml": text}
    assert run("-oshort", files=files).places == ["a.yaml:5:3 unknown-field"]


def test_a_kustomization_names_the_namespaces_of_its_resources(run):
    files = {
        "a/kustomization.yaml": "resources: [a.yaml]\nnamespace: shop\n",
        "a/a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: _}\n",
    }
    assert run(files=files).code == 0
    assert run("b.yaml", files={"b.yaml": files["a/a.yaml"]}).code == 1


def test_charts_are_named_and_their_plain_files_are_checked(run):
    files = {
        "web/Chart.yaml": "apiVersion: v2\nname: web\n",
        "web/values.yaml": "kind: nothing\n",
        "web/values-prod.yaml": "apiVersion: x\n",
        "web/templates/a.yaml": "apiVersion: v1\nkind: {{ .Values.kind }}\n",
        "web/crds/a.yaml": BAD,
    }
    done = run("-oshort", files=files)
    assert done.places == ["web/crds/a.yaml:3:18 invalid"]
    assert "skipped: 3 files of a Helm chart, skipped: 1 Helm template" in done.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: {{ b }}\n", "template"),
        ("apiVersion: v1\nkind: Config\nclusters: []\n", "kubeconfig"),
        ("apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n", "configuration of kind"),
        ("apiVersion: 1\ndatasources: []\n", "file without objects"),
        ('[{"kind": "nothing"}]\n', "file without objects"),
        ("a: [\n", "file without objects"),
        ('{"kind": "discovery#restDescription", "id": "a"}\n', "file without objects"),
        ("apiVersion: release-notes/v2\nkind: feature\n", "object of another program"),
    ],
)
def test_files_of_other_programs_are_named(run, text, why):
    done = run(files={"a.yaml": text, "b.yaml": MAP % "b"})
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith(f"skipped: 1 {why}\n")


def test_an_index_of_charts_is_named(run):
    index = "apiVersion: v1\nentries: {}\ngenerated: now\n"
    done = run(files={"charts/index.yaml": index, "b.yaml": MAP % "b"})
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("skipped: 1 file of a Helm repository\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_every_document_is_found_in_each_encoding_that_yaml_has(run, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    text = f"{mark}{MAP % 'a'}---\r\n{BAD}".encode(encoding)
    for name, content in (("a.yaml", text), ("a.yaml.gz", gzip.compress(text))):
        assert run("-oshort", name, files={name: content}).places == [f"{name}:7:18 invalid"]


def test_an_empty_list_is_no_object(run):
    files = {"a.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems: null\n", "b.yaml": MAP % "b"}
    assert run(files=files).code == 0


def test_a_member_that_replaces_one_of_a_merge_occurs_once(run):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a}\ndata: {<<: *m, name: b%s}\n"
    assert run("a.yaml", files={"a.yaml": text % ""}).code == 0
    done = run("-oshort", "a.yaml", files={"a.yaml": text % ", name: c"})
    assert done.places == ["a.yaml:4:1 repeated-field"]


def test_fields_with_odd_names_have_their_places(run):
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},\n"a\\"b":1,\n"a\\"b":1}'
    done = run("-oshort", "a.json", files={"a.json": text})
    assert done.places == ["a.json:3:1 repeated-field", "a.json:3:1 unknown-field"]
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a}\ndata: {<<: *m, %s}\n"
    text = text.replace("{name: a}", '{name: a, ? "a\\\\" : b}')
    assert run("-oshort", "a.yaml", files={"a.yaml": text % '"a\\\\": c'}).places == [
        "a.yaml:3:26 unknown-field",
        "a.yaml:4:23 invalid",
    ]


def test_a_hook_names_files_of_all_kinds(run):
    files = {"a.yaml": "a: 1\n", "b.yaml": MAP % "b"}
    assert run("a.yaml", "b.yaml", files=files).code == 1
    assert run("a.yaml", "b.yaml", "--only-objects").code == 0
    assert run("a.yaml", "--only-objects", "--allow-empty").code == 0


def test_what_looks_like_an_object_has_to_be_one(run):
    done = run("-oshort", files={"a.yaml": "kind: Pod\n", "b.yaml": "apiVersion: v1\na: [\n"})
    assert done.places == ["a.yaml:1:1 not-an-object", "b.yaml:2:1 syntax"]


def test_positions_of_generated_text_name_their_source(run):
    text = f"---\n# Source: web/templates/map.yaml\n{BAD}"
    done = run("-oshort", "-", stdin=text)
    assert done.lines[0].startswith("<stdin>:5:18: ConfigMap A: metadata.name: Invalid value")
    assert "(source: web/templates/map.yaml)" in done.lines[0]
    origin = "{name: A, annotations: {config.kubernetes.io/path: base/map.yaml}}"
    done = run("-oshort", "-", stdin=BAD.replace("{name: A}", origin))
    assert "(source: base/map.yaml)" in done.lines[0]


def test_json_lines_lists_and_packed_files_are_read(run):
    bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A"}}
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{**bad, "metadata": {"name": "b"}}, bad],
    }
    files = {
        "a.jsonl": f"{json.dumps(bad)}\n{json.dumps(bad | {'metadata': {'name': 'B'}})}\n",
        "b.yaml.gz": gzip.compress(BAD.encode()),
        "c.json": json.dumps(listed, indent=1),
    }
    done = run("-oshort", files=files)
    assert done.places == [
        "a.jsonl:1:64 invalid",
        "a.jsonl:2:64 invalid",
        "b.yaml.gz:3:18 invalid",
        "c.json:16:13 invalid",
    ]
    assert "items[1].metadata.name" in done.lines[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.yaml",), "nowhere.yaml: no such file or folder"),
        (("empty.yaml",), "no object was found"),
        (("-d", "nowhere"), "nowhere: no such file or folder"),
        (("--kubernetes-version", "1.2"), "'1.2' is not a supported version"),
        (("--removed-in", "soon"), "'soon' is not a version such as 1.37"),
        (("--strict", "--warn-unknown"), "--warn-unknown turns it off"),
        (("broken.gz",), "broken.gz cannot be read: it is a damaged gzip file"),
        (("damaged.gz",), "damaged.gz cannot be read: it is a damaged gzip file"),
        (("loop.yaml",), "loop.yaml: no such file or folder"),
    ],
)
def test_bad_input_has_exit_code_two_and_an_explanation(run, arguments, words):
    packed = gzip.compress(BAD.encode() * 9)
    files = {
        "empty.yaml": "# nothing\n---\n",
        "broken.gz": packed[:5],
        "damaged.gz": packed[:20] + b"\xff" * 9,
        "a.yaml": MAP % "a",
    }
    Path("loop.yaml").symlink_to("loop.yaml")
    done = run(*arguments, files=files)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize("name", ["plain.yaml", "packed.yaml.gz", "-", "pipe"])
def test_a_file_has_a_largest_size_wherever_it_comes_from(run, monkeypatch, name):
    text = BAD.encode()
    monkeypatch.setattr("inkube.apiserver.validate.files.MOST", len(text))
    for end, code in ((b"", 1), (b"\n", 2)):
        files = {"plain.yaml": text + end, "packed.yaml.gz": gzip.compress(text + end)}
        with piped(text + end) as pipe:
            done = run(pipe if name == "pipe" else name, files=files, stdin=text + end)
        assert done.code == code
        assert ("contains more than" in done.err) is (code == 2)


@contextlib.contextmanager
def piped(content):
    """The path of a pipe with some bytes, as the shell makes of `<(kustomize build)`."""
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    yield f"/dev/fd/{read_end}"
    os.close(read_end)


def test_what_has_no_content_in_a_folder_is_left_out(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert run("-oshort", files={"a.yaml": BAD}).places == ["a.yaml:3:18 invalid"]


def test_empty_input_can_be_accepted(run):
    assert run("a.yaml", "--allow-empty", files={"a.yaml": "# nothing\n"}).code == 0


SETTINGS = "validate:\n  exclude: [b]\n  warn-unknown: true\n  definitions: crds\n"
PROJECT = '[tool.inkube.validate]\nexclude = ["b"]\nwarn-unknown = true\ndefinitions = "crds"\n'


@pytest.mark.parametrize(
    ("name", "text"), [(".inkube.yaml", SETTINGS), ("pyproject.toml", PROJECT)]
)
def test_settings_are_found_by_walking_up(run, name, text):
    files = {
        name: text,
        "b/a.yaml": BAD,
        "c/d/a.yaml": f"{MAP % 'a'}dota: {{}}\n",
        "crds/a.yaml": MAP % "a",
    }
    done = run("-oshort", "c/d", files=files)
    assert (done.code, done.places) == (0, ["c/d/a.yaml:4:1 unknown-field"])
    assert run("-oshort", files=files).err.startswith("2 documents, 0 errors, 1 warning")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("validate: {exclud: [a]}", "exclud is not a setting of validate; did you mean exclude?"),
        ("validate: {warn-unknown: 1}", "warn-unknown is true or false, not 1"),
        ("exclude: [a]", "exclude belongs below validate"),
        ("validate: [a]", "the settings of validate are a mapping"),
        ("validate: {skip: [{}]}", "skip is a text or a list of texts"),
        ("a: [", "cannot be read"),
    ],
)
def test_invalid_settings_are_reported(run, text, words):
    done = run(files={".inkube.yaml": text, "a.yaml": MAP % "a"})
    assert done.code == 2
    assert words in done.err


def test_several_processes_find_the_same(run):
    files = {
        f"{number:02}.yaml": (BAD if number % 3 else MAP % f"m{number}") for number in range(45)
    }
    one, two = run("-ojson", files=files), run("-ojson", "-j", "2")
    assert (one.code, two.code) == (1, 1)
    assert one.out == two.out
    assert len(json.loads(one.out)["errors"]) == 30


_TWO = "clusterIP: 'fd00::7', clusterIPs: ['fd00::7', 10.0.0.7"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv6, IPv4]", 0),
        ("ipFamilies: [IPv6]", 0),
        ("clusterIP: 'fd00::7'", 0),
        (f"{_TWO}]", 1),  # of one family by default
        (f"{_TWO}], ipFamilyPolicy: PreferDualStack", 0),
        ("clusterIP: 10.0.0.1, ipFamilies: [IPv6]", 1),
    ],
)
def test_a_cluster_can_have_the_families_of_a_service(run, spec, code):
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {%s, ports: [{port: 80}]}\n"
    assert run("a.yaml", files={"a.yaml": text % spec}).code == code
