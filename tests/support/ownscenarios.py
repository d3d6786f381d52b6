"""Scenarios of the controllers that inkube brings itself, for their exploration."""

from typing import Any, NamedTuple

from inkube.apiserver.explore import InProcess, Scenario, advance, apply, delete, patch

WORKLOADS = {"workloads": True}
HISTORY = frozenset(
    {"ReplicaSet.apps .metadata.annotations.*", "Deployment.apps .metadata.annotations.*"}
)

ADDRESSES = frozenset(
    {"EndpointSlice.discovery.k8s.io .endpoints*.addresses*", "Endpoints .subsets*.ip"}
)
"""Which pod has which address depends on the order in which they start."""
SCALED = frozenset({"HorizontalPodAutoscaler.autoscaling .status.lastScaleTime"})
"""The second of two writes: a crash between them loses it upstream, too."""


def obj(api_version: str, kind: str, name: str, namespace: str = "default", **rest: Any) -> Any:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        **rest,
    }


def template(**spec: Any) -> Any:
    container = {"name": "c", "image": "example.com/web:1"}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


SELECTOR = {"matchLabels": {"app": "web"}}
IMAGE = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}


def scaled(replicas: int) -> Any:
    return {"spec": {"replicas": replicas}}


def scenario(*steps: Any, **more: Any) -> Scenario:
    return Scenario(InProcess(WORKLOADS), steps, **more)


def deployment(replicas: int = 2) -> Any:
    spec = {"replicas": replicas, "selector": SELECTOR, "template": template()}
    return obj("apps/v1", "Deployment", "web", spec=spec)


DEPLOYMENTS, SETS, DAEMON_SETS = "apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets"
JOBS, CRON_JOBS = "batch/v1/jobs", "batch/v1/cronjobs"
AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
JOB_SPEC = {
    "completions": 3,
    "parallelism": 2,
    "template": template(restartPolicy="Never"),
}
JOB = obj(
    "batch/v1", "Job", "once", spec={**JOB_SPEC, "template": {"spec": JOB_SPEC["template"]["spec"]}}
)
INDEXED = obj("batch/v1", "Job", "indexed", spec={**JOB["spec"], "completionMode": "Indexed"})
CRON = obj(
    "batch/v1",
    "CronJob",
    "hourly",
    spec={
        "schedule": "0 */6 * * *",
        "concurrencyPolicy": "Forbid",
        "jobTemplate": {"spec": {"template": {"spec": JOB_SPEC["template"]["spec"]}}},
    },
)
SET = obj(
    "apps/v1",
    "StatefulSet",
    "web",
    spec={
        "replicas": 2,
        "serviceName": "web",
        "selector": SELECTOR,
        "template": template(),
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ],
    },
)
DAEMONS = obj("apps/v1", "DaemonSet", "agent", spec={"selector": SELECTOR, "template": template()})
SERVICE = obj("v1", "Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
BUDGET = obj(
    "policy/v1", "PodDisruptionBudget", "web", spec={"minAvailable": 1, "selector": SELECTOR}
)
AUTOSCALER = obj(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "web",
    spec={
        "minReplicas": 3,
        "maxReplicas": 5,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            }
        ],
    },
)
CLAIM = obj(
    "v1", "PersistentVolumeClaim", "data",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
)  # fmt: skip
NAMESPACE = obj("v1", "Namespace", "shop", "")
IN_SHOP = [
    obj("v1", "ConfigMap", "settings", "shop", data={"a": "b"}),
    obj("v1", "Secret", "key", "shop"),
    {**deployment(1), "metadata": {"name": "web", "namespace": "shop"}},
]
USER_OF_CLAIM = obj(
    "v1",
    "Pod",
    "user",
    spec={
        "containers": [{"name": "c", "image": "example.com/web:1"}],
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}],
    },
)

ALL = frozenset({"crash", "error", "race", "user"})
NO_USERS = ALL - {"user"}
"""For scenarios whose end depends on when the user takes the next step: orphaned pods of a Job, the
ReplicaSets of earlier templates."""


def of_modules(*steps: Any, **more: Any) -> Scenario:
    return Scenario(InProcess({"modules": "all"}), steps, **more)


SOURCE = "provisioning.grafana.app/v0alpha1"
FILES = [
    {
        "path": f"{name}.json",
        "content": f'{{"uid": "{name}", "title": "T", "schemaVersion": 39, "panels": []}}',
    }
    for name in ("a", "b")
]
GIT = obj(
    "world.inkube.dev/v1", "GitHost", "git.example.com", "",
    spec={
        "repositories": [
            {
                "path": "org/blueprints",
                "branches": ["main"],
                "files": [{
                    "path": "base/Kptfile",
                    "content": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n",
                }],
            },
            {"path": "org/deployments", "branches": ["main"]},
        ]
    },
)  # fmt: skip
GITHUB = obj(
    "world.inkube.dev/v1", "GitHost", "github.com", "",
    spec={"repositories": [{"path": "org/boards", "branches": ["main"], "files": FILES}]},
)  # fmt: skip
BOARDS = obj(
    SOURCE, "Repository", "boards",
    spec={
        "title": "Boards",
        "type": "github",
        "github": {"url": "https://github.com/org/boards", "branch": "main"},
        "sync": {"enabled": True, "target": "folder", "intervalSeconds": 3600},
    },
)  # fmt: skip
JOBS_OF_BOARDS = frozenset(
    {"Job.provisioning.grafana.app", "HistoricJob.provisioning.grafana.app",
     "Repository.provisioning.grafana.app .status.sync.*",
     "Repository.provisioning.grafana.app .status.health.*"}
)  # fmt: skip
"""Each attempt to synchronise is a job of its own."""
PACKAGES = "config.porch.kpt.dev/v1alpha1"
HASHES = frozenset({"Repository.config.porch.kpt.dev .status.gitCommitHash"})
"""A commit contains the time of its creation."""
UPSTREAM = {"repo": "blueprints", "package": "base", "workspaceName": "main"}


def packages(name: str) -> Any:
    git = {"repo": f"https://git.example.com/org/{name}"}
    return obj(PACKAGES, "Repository", name, spec={"type": "git", "git": git})


VARIANT = obj(
    PACKAGES, "PackageVariant", "a",
    spec={"upstream": UPSTREAM, "downstream": {"repo": "deployments", "package": "base"}},
)  # fmt: skip
VARIANTS = obj(
    "config.porch.kpt.dev/v1alpha2", "PackageVariantSet", "s",
    spec={"upstream": UPSTREAM, "targets": [{"repositories": [{"name": "deployments"}]}]},
)  # fmt: skip


COLLISIONS = tuple(
    f"another client's object before create of {kind} *" for kind in ("ReplicaSet", "Job")
)
"""Upstream, controllers take another name then, or leave the object as it is."""


class Own(NamedTuple):
    """A scenario, and what is tried with it."""

    scenario: Scenario
    categories: frozenset[str] = ALL
    different_by_design: tuple[str, ...] = ()
    """Patterns of plans whose end differs upstream as well."""


SCENARIOS = {
    "deployment": Own(
        scenario(
            apply(deployment()),
            patch(DEPLOYMENTS, "web", scaled(3)),
            delete(DEPLOYMENTS, "web"),
            ignore=HISTORY,
        )
    ),
    "rollout": Own(
        scenario(apply(deployment()), patch(DEPLOYMENTS, "web", IMAGE), ignore=HISTORY), NO_USERS
    ),
    "again": Own(
        scenario(
            apply(deployment(1)), delete(DEPLOYMENTS, "web"), apply(deployment(1)), ignore=HISTORY
        )
    ),
    "job": Own(scenario(apply(JOB), delete(JOBS, "once")), NO_USERS),
    "indexed": Own(scenario(apply(INDEXED))),
    "cronjob": Own(
        scenario(
            apply(CRON),
            advance(6 * 3600),
            patch(CRON_JOBS, "hourly", {"spec": {"suspend": True}}),
            delete(CRON_JOBS, "hourly"),
        ),
        NO_USERS,
        ("another client deletes after create of Job *",),
    ),
    "statefulset": Own(
        scenario(
            apply(SET),
            patch(SETS, "web", scaled(1)),
            patch(SETS, "web", IMAGE),
            delete(SETS, "web"),
        ),
        NO_USERS,
    ),
    "daemonset": Own(
        scenario(apply(DAEMONS), patch(DAEMON_SETS, "agent", IMAGE), delete(DAEMON_SETS, "agent")),
        NO_USERS,
    ),
    "service": Own(
        scenario(
            apply(SERVICE, deployment()),
            patch(DEPLOYMENTS, "web", scaled(1)),
            delete("v1/services", "web"),
            ignore=HISTORY | ADDRESSES,
        )
    ),
    "budget": Own(
        scenario(
            apply(deployment(), BUDGET),
            patch(DEPLOYMENTS, "web", scaled(3)),
            delete("policy/v1/poddisruptionbudgets", "web"),
            ignore=HISTORY,
        )
    ),
    "autoscaler": Own(
        scenario(
            apply(deployment(), AUTOSCALER),
            patch(AUTOSCALERS, "web", {"spec": {"minReplicas": 4}}),
            delete(AUTOSCALERS, "web"),
            ignore=HISTORY | SCALED,
        ),
        NO_USERS,
    ),
    "claim": Own(
        scenario(
            apply(CLAIM),
            apply(USER_OF_CLAIM),
            delete("v1/persistentvolumeclaims", "data"),
            delete("v1/pods", "user"),
        ),
        NO_USERS,
    ),
    "namespace": Own(
        scenario(apply(NAMESPACE, *IN_SHOP), delete("v1/namespaces", "shop", ""), ignore=HISTORY)
    ),
    "boards": Own(
        of_modules(
            apply(BOARDS),
            patch(f"{SOURCE}/repositories", "boards", {"spec": {"title": "Others"}}),
            delete(f"{SOURCE}/repositories", "boards"),
            definitions=[GITHUB],
            ignore=JOBS_OF_BOARDS,
        )
    ),
    "packages": Own(
        of_modules(
            apply(packages("blueprints"), packages("deployments")),
            apply(VARIANT),
            delete(f"{PACKAGES}/packagevariants", "a"),
            delete(f"{PACKAGES}/repositories", "blueprints"),
            definitions=[GIT],
            ignore=HASHES,
        )
    ),
    "sets": Own(
        of_modules(
            apply(packages("blueprints"), packages("deployments")),
            apply(VARIANTS),
            delete("config.porch.kpt.dev/v1alpha2/packagevariantsets", "s"),
            definitions=[GIT],
            ignore=HASHES,
        )
    ),
}
