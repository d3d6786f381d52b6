"""The objects of a set together: names that occur twice, and names that none of them has."""

import pytest

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def test_a_name_occurs_once_in_a_file_and_variants_are_allowed_in_files(run):
    twice = f"{MAP}---\n{MAP.replace('{name: a}', '{name: a, namespace: default}')}"
    done = run("-oshort", "a.yaml", files={"a.yaml": twice})
    assert (done.code, done.places) == (1, ["a.yaml:7:18 repeated-name"])
    assert run(".", files={"a.yaml": MAP, "b/a.yaml": MAP}).code == 0
    assert run(".", "--references").code == 1
    other = MAP.replace("{name: a}", "{name: a, namespace: other}")
    assert run(".", files={"b/a.yaml": f"{MAP}---\n{other}"}).code == 0


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  serviceAccountName: robot
  containers:
  - name: c
    image: nginx
    env:
    - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}
    - {name: B, valueFrom: {secretKeyRef: {name: maybe, key: b, optional: true}}}
  volumes:
  - {name: v, persistentVolumeClaim: {claimName: disk}}
"""
COMPLETE = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {%s: x}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}%s}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: %s}, ports: [{port: 80}]}
"""


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        (("a", "", "web"), "", ""),
        (("b", "", "web"), "key", "the ConfigMap settings has no key a"),
        (("a", "", "other"), "spec.selector", "the selector matches no pod of the set"),
        (("a", ", storageClassName: fast", "web"), "storageClassName", "no StorageClass fast"),
    ],
)
def test_missing_references_are_reported_on_request(run, values, field, words):
    files = {"a.yaml": POD, "b.yaml": COMPLETE % values}
    assert run(files=files).code == 0
    done = run("-oshort", "--references")
    assert done.code == bool(words)
    assert [field in line and words in line for line in done.lines] == ([True] if words else [])


def test_every_missing_name_of_a_pod_has_its_place(run):
    done = run("-oshort", "--references", "a.yaml", files={"a.yaml": POD})
    assert done.places == [
        "a.yaml:5:23 missing-reference",
        "a.yaml:10:53 missing-reference",
        "a.yaml:10:68 missing-reference",
        "a.yaml:13:50 missing-reference",
    ]


def test_a_binding_names_a_role_of_the_set_or_of_every_cluster(run):
    text = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
"""
    for name, code in (("view", 0), ("system:node", 0), ("own", 1)):
        assert run("--references", "a.yaml", files={"a.yaml": text % name}).code == code


def test_wrong_scopes_and_deprecated_kinds_are_reported(run):
    text = """\
apiVersion: v1
kind: Namespace
metadata: {name: a, namespace: b}
---
apiVersion: v1
kind: ComponentStatus
metadata: {name: a}
---
apiVersion: v1
kind: Endpoints
metadata: {name: a}
"""
    done = run("-oshort", "a.yaml", files={"a.yaml": text})
    assert done.places == [
        "a.yaml:3:32 scope",
        "a.yaml:5:1 not-creatable",
        "a.yaml:5:1 deprecated",
        "a.yaml:9:1 deprecated",
    ]
    assert done.code == 1


def test_findings_of_several_minors_name_their_minors(run):
    text = """\
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: a}
spec: {cidrs: [10.0.0.0/16]}
"""
    arguments = ("-oshort", "a.yaml", "--kubernetes-version")
    done = run(*arguments, "1.31..1.34", files={"a.yaml": text})
    assert "(Kubernetes 1.31, 1.32)" in done.out
    assert run(*arguments, "1.33,1.36").code == 0
