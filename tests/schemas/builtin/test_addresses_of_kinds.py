"""IP addresses in fields of built-in kinds: which are refused, and which have a warning."""

import pytest

from inkube.schemas.builtin import addresses

CANONICAL, ODD, MAPPED = "2001:db8::1", ("2001:DB8::1", "2001:db8:0:0::1"), "::ffff:10.0.0.1"
PODS = {"containers": [{"name": "c", "image": "i"}]}
FIELDS = {
    "spec.externalIPs[0]": ("Service", lambda a: {"spec": {"externalIPs": [a]}}),
    "subsets[0].addresses[0].ip": (
        "Endpoints", lambda a: {"subsets": [{"addresses": [{"ip": a}]}]},
    ),
    "subsets[0].notReadyAddresses[0].ip": (
        "Endpoints", lambda a: {"subsets": [{"notReadyAddresses": [{"ip": a}]}]},
    ),
    "spec.hostAliases[0].ip": ("Pod", lambda a: {"spec": {**PODS, "hostAliases": [{"ip": a}]}}),
    "spec.dnsConfig.nameservers[0]": (
        "Pod", lambda a: {"spec": {**PODS, "dnsConfig": {"nameservers": [a]}}},
    ),
    "spec.template.spec.hostAliases[0].ip": (
        "Deployment",
        lambda a: {"spec": {"template": {"spec": {**PODS, "hostAliases": [{"ip": a}]}}}},
    ),
}  # fmt: skip
BLOCKS = {
    "spec.podCIDRs[0]": ("Node", lambda b: {"spec": {"podCIDR": b, "podCIDRs": [b]}}),
    "spec.loadBalancerSourceRanges[0]": (
        "Service", lambda b: {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": [b]}},
    ),
    "spec.ingress[0].from[0].ipBlock.cidr": (
        "NetworkPolicy", lambda b: {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": b}}]}]}},
    ),
    "spec.egress[0].to[0].ipBlock.except[0]": (
        "NetworkPolicy",
        lambda b: {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "::/0", "except": [b]}}]}]}},
    ),
}  # fmt: skip


@pytest.fixture
def warned(kinds):
    def texts(kind, obj, path):
        made = kinds.created(kind, obj)
        found = kinds.strategy_of(kind).warnings_on_create(kinds.context_of(kind), made)
        return [text.removeprefix(f"{path}: ") for text in found if text.startswith(path)]

    return texts


@pytest.mark.parametrize("path", FIELDS)
def test_an_address_that_is_not_canonical_has_a_warning(warned, path):
    kind, make = FIELDS[path]
    assert warned(kind, make(CANONICAL), path) == []
    for odd in ODD:
        better = f'should be in RFC 5952 canonical format ("{CANONICAL}")'
        assert warned(kind, make(odd), path) == [f'IPv6 address "{odd}" {better}']


@pytest.mark.parametrize("path", BLOCKS)
def test_a_block_that_is_not_canonical_has_a_warning(warned, path):
    kind, make = BLOCKS[path]
    assert warned(kind, make("2001:db8::/64"), path) == []
    better = 'should be in RFC 5952 canonical format ("2001:db8::/64")'
    assert warned(kind, make("2001:DB8::/64"), path) == [
        f'IPv6 CIDR value "2001:DB8::/64" {better}'
    ]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (CANONICAL, None),
        *((odd, f'must be in canonical form ("{CANONICAL}")') for odd in ODD),
        (MAPPED, "must not be an IPv4-mapped IPv6 address"),
        ("::ffff:a00:1", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_addresses_of_slices_must_be_canonical(kinds, address, why):
    strategy = kinds.strategy_of("EndpointSlice")
    made = kinds.created(
        "EndpointSlice", {"addressType": "IPv6", "endpoints": [{"addresses": [address]}]}
    )
    errors = [error.text() for error in strategy.check(made)]
    place = "endpoints[0].addresses[0]"
    assert errors == ([] if why is None else [f'{place}: Invalid value: "{address}": {why}'])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.1/32", None),
        ("010.0.0.1/24", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:10.0.0.1/24", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.1/24", "must not have bits set beyond the prefix length"),
    ],
)
def test_a_block_has_one_error(text, why):
    found = [error.text() for error in addresses.check_block(text, "at")]
    assert found == ([] if why is None else [f'at: Invalid value: "{text}": {why}'])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", []),
        ("010.0.0.1", ["10.0.0.1"]),
        (MAPPED, ["10.0.0.1"]),
        ("nonsense", []),
    ],
)
def test_stored_addresses_of_old_forms_name_a_better_one(text, expected):
    assert [
        warning.rpartition(" ")[2].strip('"') for warning in addresses.warnings(text, "at")
    ] == (expected)


@pytest.mark.parametrize("given", [["None"], ["10.0.0.9"], [""], ["None", "None"], ["x"]])
@pytest.mark.parametrize("more", [{}, {"clusterIP": ""}])
def test_cluster_ips_need_the_first_one_alone(kinds, given, more):
    strategy = kinds.strategy_of("Service")
    spec = {"ports": [{"port": 1}], "selector": {"a": "b"}, "clusterIPs": given, **more}
    made = kinds.created("Service", {"spec": spec})
    texts = [error.text() for error in strategy.validate(kinds.context_of("Service"), made)]
    assert "must be empty when `clusterIP` is not specified" in texts[0]
    assert not any("first value must match" in text for text in texts)


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer"])
@pytest.mark.parametrize("left", [None, []])
def test_the_policy_of_external_traffic_goes_with_what_needs_it(kinds, kind, left):
    ports = {"ports": [{"port": 1}], "selector": {"a": "b"}}
    old = kinds.created("Service", {"spec": {"type": kind, "externalIPs": ["192.0.2.1"], **ports}})
    new = kinds.decoded("Service", {"spec": {**old["spec"], "externalIPs": left}})
    strategy, context = kinds.strategy_of("Service"), kinds.context_of("Service")
    strategy.prepare_for_update(context, new, old)
    assert old["spec"]["externalTrafficPolicy"] == "Cluster"
    assert ("externalTrafficPolicy" in new["spec"]) == (kind != "ClusterIP")
    assert strategy.check_update(new, old) == []
