"""Warnings: one table over all pods and templates, and all selectors of nodes.

The tables restate pkg/api/{pod,node,persistentvolume,storage}: the same text comes from every kind
that contains the struct, under the path of this kind.
"""

import base64
import datetime as dt
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from samples import TEMPLATES

INSTEAD = {
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
FRACTION = 'fractional byte value "{}" is invalid, must be an integer'
NAMED = {"name": "c", "image": "i"}


def warned(kinds, kind, obj):
    made = {"metadata": {"name": "x"}, **obj}
    return kinds.strategy_of(kind).warnings_on_create(kinds.context_of(kind), made)


def of_template(kinds, kind, template):
    """Return the warnings about a pod or template of the kind, with paths from the template."""
    path = TEMPLATES[kind]
    meta = {"name": "x", "generation": 1}
    obj: dict[str, Any] = {"metadata": meta}
    if not path:
        obj |= template
        obj["metadata"] = {**meta, **template.get("metadata", {})}
    else:
        *above, last = path.split(".")
        inner = obj
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = template
    prefix = f"{path}." if path else ""
    return [text.replace(prefix, "") if prefix else text for text in warned(kinds, kind, obj)]


def spec(**members):
    return {"spec": {"containers": [NAMED], **members}}


def container(**members):
    return spec(containers=[{**NAMED, **members}])


TABLE = [
    *(
        (spec(nodeSelector={label: "x"}), [f"spec.nodeSelector[{label}]: {text}"])
        for label, text in INSTEAD.items()
    ),
    *(
        (
            spec(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": label}]}]
                        },
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"preference": {"matchExpressions": [{"key": label}]}}
                        ],
                    }
                },
                topologySpreadConstraints=[{"topologyKey": label, "labelSelector": {}}],
            ),
            [
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    f"nodeSelectorTerms[0].matchExpressions[0].key: {label} is {text}"
                ),
                (
                    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
                    f"preference.matchExpressions[0].key: {label} is {text}"
                ),
                f"spec.topologySpreadConstraints[0].topologyKey: {label} is {text}",
            ],
        )
        for label, text in INSTEAD.items()
    ),
    (
        spec(volumes=[{"name": "v", "photonPersistentDisk": {}}, {"name": "w", "storageos": {}}]),
        [
            "spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
            "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    (
        spec(overhead={"memory": "1500m", "ephemeral-storage": "1m", "cpu": "1m"}),
        [
            f"spec.overhead[memory]: {FRACTION.format('1500m')}",
            f"spec.overhead[ephemeral-storage]: {FRACTION.format('1m')}",
        ],
    ),
    (
        container(
            resources={
                m: {"memory": "1m", "ephemeral-storage": "2m"} for m in ("limits", "requests")
            }
        ),
        [
            f"spec.containers[0].resources.{member}[{name}]: {FRACTION.format(shown)}"
            for name, shown in (("memory", "1m"), ("ephemeral-storage", "2m"))
            for member in ("limits", "requests")
        ],
    ),
    *(
        (
            container(env=[{"name": "X", "value": "1"}, {"name": "X", **again}]),
            [
                (
                    'spec.containers[0].env[1]: hides previous definition of "X", which may be '
                    "dropped when using apply"
                )
            ][: int(hides)],
        )
        for again, hides in (
            ({"value": "2"}, True),
            ({"value": "$(X)"}, True),
            ({"value": "$(Y)"}, True),
            ({"value": "$(X)2"}, False),
            ({"value": "a$(X)", "valueFrom": {}}, True),
        )
    ),
    *(
        (
            spec(
                initContainers=[{**NAMED, "ports": [one]}], containers=[{**NAMED, "ports": [other]}]
            ),
            [
                (
                    f"spec.containers[0].ports[0]: {how} port definition with "
                    "spec.initContainers[0].ports[0]"
                )
            ]
            if how
            else [],
        )
        for one, other, how in (
            ({}, {}, "duplicate"),
            ({"hostPort": 1}, {}, "overlapping"),
            ({"hostPort": 1}, {"hostPort": 1, "hostIP": "10.0.0.1"}, "dangerously ambiguous"),
            ({"hostPort": 1, "hostIP": "10.0.0.2"}, {"hostPort": 1, "hostIP": "10.0.0.1"}, ""),
            ({"hostPort": 1}, {"hostPort": 2}, ""),
        )
    ),
    (
        {
            **spec(),
            "metadata": {
                "annotations": {
                    "container.seccomp.security.alpha.kubernetes.io/c": "x",
                    "container.seccomp.security.alpha.kubernetes.io/other": "x",
                    "seccomp.security.alpha.kubernetes.io/pod": "x",
                    "scheduler.alpha.kubernetes.io/critical-pod": "",
                }
            },
        },
        [
            (
                "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: "
                'non-functional in v1.16+; use the "priorityClassName" field instead'
            ),
            f"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {SECCOMP}",
            f"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: {SECCOMP}",
        ],
    ),
    (
        {
            **spec(securityContext={"seccompProfile": {}}),
            "metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "x"}},
        },
        [],
    ),
]


@pytest.mark.parametrize(("template", "expected"), TABLE)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_pod_and_template_is_warned_of_alike(kinds, kind, template, expected):
    assert of_template(kinds, kind, template) == expected


@pytest.mark.parametrize(("label", "text"), INSTEAD.items())
def test_selectors_of_nodes_are_warned_of_in_every_kind(kinds, label, text):
    term = {"matchExpressions": [{"key": label, "values": ["a b"]}]}
    volume = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    found = warned(kinds, "PersistentVolume", {"spec": volume})
    place = "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0]"
    assert found[0] == f"{place}.key: {label} is {text}"
    assert found[1].startswith(f"{place}.values[0]: a b is invalid, a valid label must be")
    runtime = {"scheduling": {"nodeSelector": {label: "x"}}}
    assert warned(kinds, "RuntimeClass", runtime) == [f"scheduling.nodeSelector: {text}"]
    topologies = [{"matchLabelExpressions": [{"key": label}]}]
    assert warned(kinds, "StorageClass", {"allowedTopologies": topologies}) == [
        f"allowedTopologies[0].matchLabelExpressions[0].key: {text}"
    ]
    selector = {"matchExpressions": [{"key": label}], "matchLabels": {label: "x"}}
    assert warned(kinds, "CSIStorageCapacity", {"nodeTopology": selector}) == [
        f"nodeTopology.matchExpressions[0].key: {label} is {text}",
        f"nodeTopology.matchLabels.{label}: {text}",
    ]


@pytest.mark.parametrize(
    ("member", "shown"),
    [
        ("cephfs", "cephfs: deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "rbd: deprecated in v1.28, non-functional in v1.31+"),
        ("storageos", "storageOS: deprecated in v1.22, non-functional in v1.25+"),
        ("scaleIO", "scaleIO: deprecated in v1.16, non-functional in v1.22+"),
        ("glusterfs", "glusterfs: deprecated in v1.25, non-functional in v1.26+"),
        ("nfs", None),
    ],
)
def test_volumes_of_removed_plugins_are_warned_of(kinds, member, shown):
    found = warned(kinds, "PersistentVolume", {"spec": {member: {}}})
    assert found == ([f"spec.{shown}"] if shown else [])


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        ("", "", "failed to find any PEM data in certificate input"),
        ("k", "", "but did find a private key; PEM inputs may have been switched"),
        ("x", "", "skipping PEM blocks of the following types: [X]"),
        ("c", "", "failed to find any PEM data in key input"),
        ("c", "c", "found a certificate rather than a key in the PEM for the private key"),
        ("c", "x", "skipping PEM blocks of the following types: [X]"),
        ("c", "k", "x509: malformed certificate"),
    ],
)  # fmt: skip
def test_certificate_and_key_of_a_secret_are_a_pair(kinds, certificate, key, problem):
    names = {"k": "EC PRIVATE KEY", "c": "CERTIFICATE", "x": "X"}
    data = {
        member: base64.b64encode(
            f"-----BEGIN {name}-----\nAAEC\n-----END {name}-----\n".encode()
            if (name := names.get(each))
            else b""
        ).decode()
        for member, each in (("tls.crt", certificate), ("tls.key", key))
    }
    (found,) = warned(kinds, "Secret", {"type": "kubernetes.io/tls", "data": data})
    assert found.endswith(problem)
    assert warned(kinds, "Secret", {"type": "Opaque", "data": data}) == []


def test_a_pair_of_certificate_and_key_has_no_warning(kinds):
    owner, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    certificate = x509.CertificateBuilder(name, name, owner.public_key(), 1, start, start)
    text = certificate.sign(owner, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    keys = [
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        for key in (owner, other)
    ]
    found = [
        warned(kinds, "Secret", {
            "type": "kubernetes.io/tls",
            "data": {
                "tls.crt": base64.b64encode(text).decode(),
                "tls.key": base64.b64encode(key).decode(),
            },
        })
        for key in keys
    ]  # fmt: skip
    assert found == [[], ["tls: private key does not match public key"]]


def test_slices_of_names_are_deprecated(kinds):
    slices = [{"addressType": kind, "endpoints": []} for kind in ("FQDN", "IPv4")]
    text = "spec.addressType: FQDN endpoints are deprecated"
    assert [warned(kinds, "EndpointSlice", each) for each in slices] == [[text], []]
