"""IP addresses in fields of built-in kinds: which are refused, and which have a warning."""

import copy
import itertools
import re

import pytest
import typed

from inkube.schemas.builtin import addresses
from inkube.schemas.builtin.kinddefinitions import by_name
from inkube.schemas.gotypes import table, types

CANONICAL, ODD, MAPPED = "2001:db8::1", ("2001:DB8::1", "2001:db8:0:0::1"), "::ffff:10.0.0.1"
LIKE_AN_ADDRESS = re.compile(r"(ips?|address(es)?|nameservers)$", re.IGNORECASE)
LIKE_A_BLOCK = re.compile(r"(cidrs?|except|ranges)$", re.IGNORECASE)
WITHOUT_WARNING = {
    "hostIP", "podCIDR", "clusterIP", "cidrs", "podIP", "address", "hardwareAddress", "ips",
}  # fmt: skip
"""Fields whose form upstream does not look at: most have a list of the same addresses beside them,
and those of ServiceCIDRs, of a node's status and of devices must be canonical or are free."""
BESIDE = {"Service": {"spec": {"type": "LoadBalancer", "clusterIP": CANONICAL}}}


def places():
    """Yield (kind, path) of each text that is named like an address or a block of addresses."""
    for definition in by_name().values():
        version, kind = definition.storage_version, definition.names.kind
        name = table.table().kinds.get(f"{definition.group}/{version.name}/{kind}")
        if name is None:
            continue
        for path in typed.paths(types.of(name), "string"):
            if LIKE_AN_ADDRESS.search(named(path)) or LIKE_A_BLOCK.search(named(path)):
                yield kind, path


def named(path):
    return next(part for part in reversed(path) if part)


PLACES = list(places())


def put(obj, path, value):
    """Set the value at a path, and create what contains it."""
    for part, following in itertools.pairwise(path):
        empty = [] if following == 0 else {}
        if isinstance(obj, list):
            obj.append(empty)
            obj = empty
        else:
            obj = obj.setdefault(part, empty)
    if isinstance(obj, list):
        obj.append(value)
    else:
        obj[path[-1]] = value


def warned(kinds, kind, path, value):
    """Return the warnings about the value at a path, in a write of the spec or of the status."""
    obj, shown = {"metadata": {"name": "a"}, **copy.deepcopy(BESIDE.get(kind, {}))}, ""
    put(obj, path, value)
    for part in path:
        shown += "[0]" if part == 0 else f".{part}"
    strategy = kinds.strategy_of(kind)
    if path[0] == "status":
        context = kinds.context_of(kind, "status")
        found = strategy.warnings_on_update(context, obj, {"metadata": {}})
        shown = shown.removesuffix(".ip") if "ingress" in shown else shown  # as upstream names it
    else:
        found = strategy.warnings_on_create(kinds.context_of(kind), obj)
    lead = f"{shown[1:]}: "
    return [text.removeprefix(lead) for text in found if text.startswith(lead)]


def test_most_kinds_with_addresses_are_compared():
    assert len({kind for kind, _ in PLACES}) > 15


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in PLACES}))
def test_an_address_or_block_that_is_not_canonical_has_a_warning(kinds, kind):
    for path in (path for each, path in PLACES if each == kind):
        last = named(path)
        is_block = LIKE_A_BLOCK.search(last) is not None
        name, end = ("CIDR value", "/128") if is_block else ("address", "")
        assert warned(kinds, kind, path, f"{CANONICAL}{end}") == []
        better = f'should be in RFC 5952 canonical format ("{CANONICAL}{end}")'
        for odd in ODD:
            text = f'IPv6 {name} "{odd}{end}" {better}'
            expected = [] if last in WITHOUT_WARNING else [text]
            assert warned(kinds, kind, path, f"{odd}{end}") == expected, path


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (CANONICAL, None),
        *((odd, f'must be in canonical form ("{CANONICAL}")') for odd in ODD),
        (MAPPED, "must not be an IPv4-mapped IPv6 address"),
        ("::ffff:a00:1", "must not be an IPv4-mapped IPv6 address"),
        ("10.0.0.01", "must not have leading 0s"),
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
def test_a_service_without_external_traffic_drops_its_policy(kinds, kind, left):
    ports = {"ports": [{"port": 1}], "selector": {"a": "b"}}
    old = kinds.created("Service", {"spec": {"type": kind, "externalIPs": ["192.0.2.1"], **ports}})
    new = kinds.decoded("Service", {"spec": {**old["spec"], "externalIPs": left}})
    strategy, context = kinds.strategy_of("Service"), kinds.context_of("Service")
    strategy.prepare_for_update(context, new, old)
    assert old["spec"]["externalTrafficPolicy"] == "Cluster"
    assert ("externalTrafficPolicy" in new["spec"]) == (kind != "ClusterIP")
    assert strategy.check_update(new, old) == []
