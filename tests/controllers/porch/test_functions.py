"""The built-in functions: their changes and results, and bytes that stay the same."""

import re

import pytest

from inkube.controllers.porch.files import documents, packages, render

DEPLOYMENT = """# what we run
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the name
spec:
  replicas: 3 # kpt-set: ${replicas}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: main
        image: nginx:1.0 # kpt-set: ${image}:${tag}
"""
SERVICE = (
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  selector:\n    app: web\n"
)
BINDING = (
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: b\n"
    "subjects:\n- kind: ServiceAccount\n  name: s\n  namespace: old\n"
)
LOCAL = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n"
    "  annotations:\n    config.kubernetes.io/local-config: 'true'\n"
)


def run(*functions, validators=(), **files):
    """Render the package with a pipeline of functions."""
    given = {"web.yaml": DEPLOYMENT, "service.yaml": SERVICE, "local.yaml": LOCAL}
    kptfile = documents.parse(packages.new_package("p", {})["Kptfile"])
    kptfile["pipeline"] = {"mutators": list(functions), "validators": list(validators)}
    named = {name.replace("_", "."): text for name, text in files.items()}
    return render.render({**given, **named, "Kptfile": documents.dump(kptfile)})


def function(image, config=None, **more):
    return {"image": image, **({} if config is None else {"configMap": config}), **more}


def value(done, file):
    return documents.parse(done.files[file])


def test_set_namespace_moves_what_has_one_and_leaves_local_configuration():
    done = run(function("gcr.io/kpt-fn/set-namespace:v0.4", {"namespace": "n"}), b_yaml=BINDING)
    assert done.error == ""
    assert value(done, "web.yaml")["metadata"]["namespace"] == "n"
    assert "namespace" not in value(done, "b.yaml")["metadata"]
    assert value(done, "b.yaml")["subjects"][0]["namespace"] == "n"
    assert done.files["local.yaml"] == LOCAL
    assert done.files["web.yaml"].startswith("# what we run\n")
    assert "name: web # the name" in done.files["web.yaml"]


def test_set_labels_reaches_templates_and_selectors():
    done = run(function("set-labels", {"team": "x"}))
    web = value(done, "web.yaml")
    assert web["metadata"]["labels"] == {"team": "x"}
    assert web["spec"]["selector"]["matchLabels"] == {"app": "web", "team": "x"}
    assert web["spec"]["template"]["metadata"]["labels"] == {"app": "web", "team": "x"}
    assert value(done, "service.yaml")["spec"]["selector"] == {"app": "web", "team": "x"}


def test_set_annotations():
    done = run(function("set-annotations@sha256:" + "0" * 64, {"a": "b"}))
    assert value(done, "web.yaml")["metadata"]["annotations"] == {"a": "b"}
    spec = value(done, "web.yaml")["spec"]
    assert spec["template"]["metadata"]["annotations"] == {"a": "b"}


def test_apply_setters_fills_in_lines_and_changes_no_other_byte():
    done = run(function("apply-setters:v0.2", {"replicas": "5", "tag": "2.0"}))
    assert done.files["web.yaml"] == DEPLOYMENT.replace("replicas: 3", "replicas: 5").replace(
        "nginx:1.0", "nginx:2.0"
    )
    [item] = done.status["result"]["items"]
    assert [result["field"]["path"] for result in item["results"]] == [
        "spec.replicas", "spec.template.spec.containers[0].image",
    ]  # fmt: skip
    assert item["results"][0]["message"] == 'set field value to "5"'


def test_search_replace_by_path_value_and_pattern():
    done = run(function("search-replace", {"by-path": "spec.replicas", "put-value": "7"}))
    assert value(done, "web.yaml")["spec"]["replicas"] == 7
    done = run(function("search-replace", {"by-value": "web", "put-value": "shop"}))
    assert value(done, "service.yaml")["metadata"]["name"] == "shop"
    pattern = {"by-value-regex": "nginx:(.*)", "put-value": "apache:${1}"}
    done = run(function("search-replace", pattern))
    [item] = done.status["result"]["items"]
    assert item["results"][0]["message"] == 'Mutated field value to "apache:1.0"'


def test_apply_replacements_copies_a_field():
    config = documents.dump(
        {
            "apiVersion": "fn.kpt.dev/v1alpha1",
            "kind": "ApplyReplacements",
            "metadata": {
                "name": "r",
                "annotations": {"config.kubernetes.io/local-config": "true"},
            },
            "replacements": [
                {
                    "source": {"kind": "Deployment", "fieldPath": "spec.replicas"},
                    "targets": [
                        {
                            "select": {"kind": "Service"},
                            "fieldPaths": ["metadata.annotations.replicas"],
                            "options": {"create": True},
                        }
                    ],
                }
            ],
        }
    )
    done = run(function("apply-replacements", configPath="r.yaml"), r_yaml=config)
    assert done.error == ""
    assert value(done, "service.yaml")["metadata"]["annotations"] == {"replicas": 3}


def test_set_image_ensure_name_substring_and_upsert_resource():
    done = run(function("set-image", {"name": "nginx", "newTag": "9"}))
    assert re.search(r"image: nginx:9 +# kpt-set", done.files["web.yaml"])
    done = run(function("ensure-name-substring", {"prepend": "a-"}))
    assert value(done, "web.yaml")["metadata"]["name"] == "a-web"
    new = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: NodePort\n"
    done = run(function("upsert-resource", configPath="new.yaml"), new_yaml=new)
    assert value(done, "service.yaml")["spec"] == {"type": "NodePort"}


def test_selectors_limit_what_a_function_sees():
    chosen = function("set-labels", {"a": "b"}, selectors=[{"kind": "Service"}])
    done = run(chosen)
    assert done.files["web.yaml"] == DEPLOYMENT
    done = run(function("set-labels", {"a": "b"}, exclude=[{"kind": "Deployment"}]))
    assert done.files["web.yaml"] == DEPLOYMENT
    assert value(done, "service.yaml")["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("image", ["kubeconform:v1", "example.com/x/gatekeeper", "starlark:latest"])
def test_functions_that_are_not_run_report_it(image):
    done = run(function(image))
    [item] = done.status["result"]["items"]
    assert (item["exitCode"], item["results"]) == (
        0, [{"message": "not run by inkube", "severity": "info"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (function("odd:v1"), "function odd:v1 cannot be run by this server"),
        (function("set-labels"), "config is needed"),
        (function("set-namespace", {}), "config is needed"),
        (function("apply-setters", {}), "config is needed"),
        (function("set-labels", configPath="none.yaml"), "missing function config 'none.yaml'"),
        (function("search-replace", {"odd": "x"}), "invalid matcher 'odd'"),
        (function("search-replace", {"by-value-regex": "("}), "cannot be read"),
    ],
)
def test_a_function_that_fails_ends_the_render_and_changes_nothing(wrong, text):
    done = run(function("set-labels", {"a": "b"}), wrong)
    assert text in done.error
    assert done.files["web.yaml"] == DEPLOYMENT
    [condition] = value(done, "Kptfile")["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "RenderFailed")
    assert done.status["result"]["exitCode"] == 1


def test_words_that_yaml_1_1_reads_as_something_else_stay_what_they_are():
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  plain: yes\n"
    done = run(function("set-labels", {"a": "no", "b": "1:30", "c": "010"}), c_yaml=config)
    assert value(done, "c.yaml")["metadata"]["labels"] == {"a": "no", "b": "1:30", "c": "010"}
    assert "plain: yes\n" in done.files["c.yaml"]


def test_validators_change_nothing():
    done = run(validators=[function("set-labels", {"a": "b"})])
    assert done.files["web.yaml"] == DEPLOYMENT


def test_rendering_again_changes_nothing():
    done = run(function("set-labels", {"a": "b"}), function("apply-setters", {"replicas": "5"}))
    assert render.render(done.files).files == done.files
