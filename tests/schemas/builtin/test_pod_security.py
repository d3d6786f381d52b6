"""The Pod Security Standards: the checks of each level, their versions and texts."""

import pytest

from inkube.schemas.builtin.podsecurity import checks, standards
from inkube.schemas.builtin.podsecurity.standards import LATEST, Level, Standard

PREFIX = standards.PREFIX
GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def found(level, spec, *, version=LATEST, annotations=None):
    metadata = {"annotations": annotations or {}}
    return [str(one) for one in checks.violations(Standard(level, version), metadata, spec)]


def of_container(security=None, **members):
    return {"containers": [{"name": "c", "securityContext": security or {}, **members}]}


BASELINE = [
    (of_container(), None),
    (
        {"hostPID": True, **of_container()},
        "host namespaces (hostPID=true)",
    ),
    (
        of_container({"capabilities": {"add": ["CHOWN", "SYS_TIME", "NET_ADMIN"]}}),
        (
            'non-default capabilities (container "c" must not include "NET_ADMIN", "SYS_TIME" in '
            "securityContext.capabilities.add)"
        ),
    ),
    (
        of_container(ports=[{"hostPort": 9}, {"hostPort": 10}, {"containerPort": 1}]),
        'hostPort (container "c" uses hostPorts 10, 9)',
    ),
    (
        of_container({"seLinuxOptions": {"type": "spc_t", "role": "r"}}),
        (
            'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type '
            '"spc_t"; role may not be set)'
        ),
    ),
    (
        of_container({"seccompProfile": {"type": "Unconfined"}}),
        (
            'seccompProfile (container "c" must not set securityContext.seccompProfile.type to '
            '"Unconfined")'
        ),
    ),
    (
        {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}]}, **of_container()},
        "forbidden sysctls (kernel.msgmax)",
    ),
    (
        of_container({"windowsOptions": {"hostProcess": True}}),
        'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    ),
    (
        of_container(livenessProbe={"httpGet": {"host": "h", "port": 1}}),
        'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ),
]


@pytest.mark.parametrize(("spec", "text"), BASELINE)
def test_the_baseline_standard_forbids_these_fields(spec, text):
    assert found(Level.BASELINE, spec) == ([text] if text else [])
    assert found(Level.PRIVILEGED, spec) == []


def test_a_field_that_restricted_checks_as_well_is_reported_once():
    spec = {
        "volumes": [{"name": "h", "hostPath": {}}, {"name": "e", "emptyDir": {}}],
        **of_container({**GOOD, "capabilities": {"drop": ["ALL"], "add": ["SYS_TIME"]}}),
    }
    assert found(Level.RESTRICTED, spec) == [
        (
            'unrestricted capabilities (container "c" must not include "SYS_TIME" in '
            "securityContext.capabilities.add)"
        ),
        'restricted volume types (volume "h" uses restricted volume type "hostPath")',
    ]


def test_what_is_well_at_restricted_is_well_at_every_version():
    for version in (*range(40), LATEST):
        assert found(Level.RESTRICTED, of_container(GOOD), version=version) == []


@pytest.mark.parametrize(
    ("spec", "last", "first"),
    [
        ({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, 31, 32),
        (of_container({"seLinuxOptions": {"type": "container_engine_t"}}), 30, 31),
        ({"hostUsers": False, **of_container({"procMount": "Unmasked"})}, 34, 35),
    ],
    ids=["sysctls", "selinux", "procmount"],
)
def test_newer_versions_allow_more(spec, last, first):
    assert found(Level.BASELINE, spec, version=last)
    assert not found(Level.BASELINE, spec, version=first)


def test_an_annotation_was_a_seccomp_profile_before_1_19():
    annotations = {"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"}
    spec = of_container()
    assert found(Level.BASELINE, spec, version=18, annotations=annotations) == [
        (
            "seccompProfile (forbidden annotation "
            'container.seccomp.security.alpha.kubernetes.io/c="unconfined")'
        )
    ]
    assert not found(Level.BASELINE, spec, version=19, annotations=annotations)


def test_pods_on_windows_need_no_fields_of_linux():
    spec = {"os": {"name": "windows"}, **of_container({"runAsNonRoot": True})}
    assert len(found(Level.RESTRICTED, spec, version=24)) == 3
    assert found(Level.RESTRICTED, spec, version=25) == []


def test_an_enforced_standard_also_warns():
    policy, errors = standards.read({f"{PREFIX}enforce": "restricted"})
    assert not errors
    assert (policy.warn, policy.audit) == (Standard(Level.RESTRICTED), Standard())


def test_invalid_labels_are_reported_and_enforce_the_strictest_level():
    policy, errors = standards.read(
        {f"{PREFIX}enforce": "Baseline", f"{PREFIX}audit-version": "v1.01"}
    )
    assert [error.field for error in errors] == [
        f"metadata.labels[{PREFIX}enforce]",
        f"metadata.labels[{PREFIX}audit-version]",
    ]
    assert str(policy.enforce) == "restricted:latest"
