"""The policies, Pod Security labels, quotas and limit ranges of a set, by a server's own chain."""

import pytest

CONTEXT = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: shop}
spec: {hard: {pods: "3"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: shop}
spec: {limits: [{type: Container, max: {memory: 1Gi}}]}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: %s
      containers: [{name: c, image: nginx, resources: {limits: {memory: %s}}}]
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owner}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE, DELETE]
      resources: [secrets]
  matchConditions: [{name: people, expression: "!request.userInfo.username.startsWith('robot')"}]
  validations:
  - expression: "object != null && object.type in params.data.types.split(',')"
    messageExpression: "'the type is one of ' + params.data.types + ', not at ' + request.operation"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owner}
spec:
  policyName: owner
  validationActions: [%s]
  paramRef: {name: types, namespace: default, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: types, namespace: default}
data: {types: "a,b"}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: %s\n"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1, "false", "1Gi"), ""),
        ((1, "true", "1Gi"), 'pods "web-0" is forbidden: violates PodSecurity "baseline:latest"'),
        ((4, "false", "1Gi"), 'pods "web-3" is forbidden: exceeded quota: few'),
        ((1, "false", "2Gi"), "maximum memory usage per Container is 1Gi, but limit is 2Gi"),
    ],
)
def test_the_pods_of_a_workload_meet_their_namespace(run, values, words):
    files = {"a.yaml": f"{CONTEXT}---\n{DEPLOYMENT % values}"}
    done = run("-oshort", "a.yaml", "--admission", files=files)
    refused = [line for line in done.lines if line.endswith("[refused]")]
    assert [words in line for line in refused] == ([True] if words else [])
    assert all(": Deployment shop/web: spec.template: " in line for line in refused)
    assert done.code == bool(words)
    assert run("-oshort", "a.yaml").code == 0  # only admission judges this


@pytest.mark.parametrize(
    ("arguments", "operation"),
    [
        ((), "CREATE"),
        (("--operation", "update"), "UPDATE"),
        (("--old", "old.yaml"), "UPDATE"),
        (("--operation", "delete"), "DELETE"),
    ],
)
def test_a_policy_sees_operation_and_parameters(run, arguments, operation):
    files = {"p.yaml": POLICY % "Deny", "a.yaml": SECRET % "c", "old.yaml": SECRET % "c"}
    done = run("-oshort", "a.yaml", "--policies", "p.yaml", *arguments, files=files)
    assert done.places == ["a.yaml:1:1 refused"]
    assert f"the type is one of a,b, not at {operation} [refused]" in done.out


def test_an_object_that_the_policy_accepts_passes(run):
    files = {"p.yaml": POLICY % "Deny", "a.yaml": SECRET % "b"}
    assert run("a.yaml", "--policies", "p.yaml", files=files).code == 0


def test_a_policy_sees_the_user(run):
    files = {"p.yaml": POLICY % "Deny", "a.yaml": SECRET % "c"}
    assert run("a.yaml", "--policies", "p.yaml", "--user", "robot-1,team", files=files).code == 0
    assert run("a.yaml", "--policies", "p.yaml", "--user", "ann", files=files).code == 1


def test_a_binding_that_only_warns_makes_a_warning(run):
    files = {"p.yaml": POLICY % "Warn", "a.yaml": SECRET % "c"}
    done = run("-oshort", "a.yaml", "--policies", "p.yaml", files=files)
    assert (done.code, done.places) == (0, ["a.yaml:1:1 warning"])


MUTATION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: typed}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: 'replace', path: '/type', value: 'a'}]"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: typed}
spec: {policyName: typed}
"""


def test_validating_policies_judge_what_mutating_ones_made(run):
    files = {"p.yaml": POLICY % "Deny", "m.yaml": MUTATION, "a.yaml": SECRET % "c"}
    places = ("--policies", "p.yaml", "--policies", "m.yaml")
    assert run("a.yaml", *places, files=files).code == 0


def test_the_template_of_a_pod_is_ignored_by_a_comment(run):
    text = DEPLOYMENT % (1, "true", "1Gi")
    files = {"c.yaml": CONTEXT, "a.yaml": f"# inkube: ignore[refused, warning]\n{text}"}
    assert run("a.yaml", "c.yaml", "--admission", files=files) == (0, "", "4 documents, 0 errors\n")
