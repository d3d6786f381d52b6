"""Laws of decoding, for the types of every built-in kind: what is kept, dropped and refused."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
import pytest
import samples
import typed

from inkube.schemas import releases
from inkube.schemas.golang import gojson, rfc3339
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.gotypes import decoding, table, types

KINDS = sorted(samples.OBJECTS)
MINORS = [release.minor for release in releases.RECORDED]
UNKNOWN = "unheardOf"
ZERO_TIMES = {"time": rfc3339.ZERO, "microtime": rfc3339.ZERO_MICRO}
FREE = ("raw", "json", "orbool", "orlist", "orstrings", "intstr", "quantity")
"""Kinds of types that accept several JSON types."""


class Position(NamedTuple):
    """A value in an object: where it is, its type, and what contains it."""

    path: str
    type: types.GoType
    container: Any
    key: Any


def type_of(name: str, minor: int = releases.NEWEST.minor) -> types.GoType:
    """Return the type of `GROUP/VERSION/KIND`, or of `VERSION/KIND`."""
    full = name if name.count("/") == 2 else f"/{name}"
    return types.of(table.table(minor).kinds[full], minor)


def sample(name: str) -> dict[str, Any]:
    return copy.deepcopy(samples.make(*name.rsplit("/", 1)))


def places(go: types.GoType, value: Any, path: str = "") -> Iterator[Position]:
    """Yield every value inside an object, with its type."""
    if go.kind == "struct" and isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}".lstrip(".")
            yield Position(below, go.fields[key].type, value, key)
            yield from places(go.fields[key].type, inner, below)
    elif go.kind == "list" and go.item is not None:
        for number, inner in enumerate(value):
            below = f"{path}[{number}]"
            yield Position(below, go.item, value, number)
            yield from places(go.item, inner, below)
    elif go.kind == "map" and go.item is not None:
        for key in value:
            yield Position(f"{path}.{key}", go.item, value, key)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_decoded_stays_the_same_when_it_is_decoded_again(name):
    given = sample(name)
    before = copy.deepcopy(given)
    first = decoding.decode(type_of(name), given)
    assert (first.unknown, given) == ([], before)
    again = decoding.decode(type_of(name), copy.deepcopy(first.object))
    assert (again.object, again.unknown) == (first.object, [])


@pytest.mark.parametrize("name", KINDS)
def test_an_unknown_field_of_any_struct_is_dropped_and_named(name):
    go = type_of(name)
    wanted = decoding.decode(go, sample(name)).object
    paths = [
        place.path
        for place in places(go, sample(name))
        if place.type.kind == "struct" and isinstance(place.container[place.key], dict)
    ]
    for path in ("", *paths):
        given = sample(name)
        found = {place.path: place.container[place.key] for place in places(go, given)}
        found.get(path, given)[UNKNOWN] = {"a": [1]}
        decoded = decoding.decode(go, given)
        assert decoded.unknown == [f"{path}.{UNKNOWN}".lstrip(".")]
        assert decoded.object == wanted


@pytest.mark.parametrize("name", KINDS)
def test_a_value_of_a_wrong_type_is_refused_wherever_it_is(name):
    go = type_of(name)
    strict = [each.path for each in places(go, sample(name)) if each.type.kind not in FREE]
    assert strict
    for path in strict:
        given = sample(name)
        [place] = [each for each in places(go, given) if each.path == path]
        is_list = place.type.kind in ("list", "bytes")
        place.container[place.key] = {"wrong": 1} if is_list else [1]
        with pytest.raises(DecodeError) as caught:
            decoding.decode(go, given)
        assert "cannot unmarshal" in str(caught.value), path


@pytest.mark.parametrize("name", KINDS)
def test_a_null_is_the_same_as_nothing_in_every_field(name):
    go = type_of(name)
    fields = [each.path for each in places(go, sample(name)) if isinstance(each.key, str)]
    for path in fields:
        results = []
        for is_null in (True, False):
            given = sample(name)
            [place] = [each for each in places(go, given) if each.path == path]
            if place.container is given and place.key in ("apiVersion", "kind"):
                break
            if is_null:
                place.container[place.key] = None
            else:
                del place.container[place.key]
            results.append(decoding.decode(go, given).object)
        else:
            if not _is_of_map(go, path):
                assert results[0] == results[1], path


@pytest.mark.parametrize("name", KINDS)
def test_a_zero_time_is_null_where_go_sends_it_and_else_nothing(name):
    go = type_of(name)
    times = [each.path for each in places(go, sample(name)) if each.type.kind in ZERO_TIMES]
    for path in times:
        given = sample(name)
        [place] = [each for each in places(go, given) if each.path == path]
        place.container[place.key] = ZERO_TIMES[place.type.kind]
        decoded = decoding.decode(go, given).object
        assert [each.container[each.key] for each in places(go, decoded) if each.path == path] in (
            ([], [None]) if path.startswith("metadata.") else ([None],)
        )


@pytest.mark.parametrize("name", KINDS)
def test_only_the_decoder_sees_the_text_of_a_number(name):
    go = type_of(name)
    [number] = gojson.loads(b"[1e3]", texts=True)
    for path in [each.path for each in places(go, sample(name))]:
        for value in (number, [number], {"a": number}, [{"a": [number]}]):
            given = sample(name)
            [place] = [each for each in places(go, given) if each.path == path]
            place.container[place.key] = value
            with contextlib.suppress(DecodeError):
                orjson.dumps(decoding.decode(go, given).object)  # it refuses any other class
    quantities = [each.path for each in places(go, sample(name)) if each.type.kind == "quantity"]
    for path in quantities:
        given = sample(name)
        [place] = [each for each in places(go, given) if each.path == path]
        place.container[place.key] = number
        decoded = decoding.decode(go, given).object
        assert [each.container[each.key] for each in places(go, decoded) if each.path == path] == [
            "1e3"
        ]


def _is_of_map(go: types.GoType, path: str) -> bool:
    """Return whether the path leads into a map, in which a null is a value."""
    for part in path.replace("]", "").replace("[", ".#").split("."):
        if go.kind == "map":
            return True
        go = go.item if part.startswith("#") and go.item else go.fields[part].type
    return False


@pytest.mark.parametrize("minor", MINORS)
def test_the_zero_of_every_kind_is_read_as_itself_and_its_defaults(minor):
    found = table.table(minor)
    for name in found.kinds.values():
        go = types.of(name, minor)
        zero = decoding.zero(go)
        read = decoding.decode(go, copy.deepcopy(zero)).object
        if name.endswith(".ReplicationController"):
            assert (zero["spec"], read["spec"].pop("replicas")) == ({}, 1)
        assert read == zero, name


@pytest.mark.parametrize("minor", MINORS)
def test_every_type_that_a_type_refers_to_is_in_the_table_of_its_minor(minor):
    pending = [types.of(name, minor) for name in table.table(minor).kinds.values()]
    seen: set[int] = set()
    while pending:
        go = pending.pop()
        if id(go) in seen:
            continue
        seen.add(id(go))
        assert go.kind != "struct" or go.struct, go.name
        assert go.kind not in ("list", "map") or go.item is not None, go.name
        pending += [field.type for field in go.fields.values()]
        pending += [go.item] if go.item is not None else []
    assert len(seen) > len(table.table(minor).kinds)


NOT_ROUNDED = ("node.k8s.io/", "resource.k8s.io/")
"""Groups whose maps of quantities have no default: SetDefaults_ResourceList is for lists of
resources of pods, nodes, volumes, quotas and limits."""


def holding(path: tuple[str | int, ...], value: Any) -> Any:
    for part in reversed(path):
        value = [value] if part == 0 else {part: value}
    return value


@pytest.mark.parametrize("name", KINDS)
def test_amounts_of_resources_are_whole_milli_and_other_quantities_have_finer_ones(name):
    go = type_of(name)
    for path in typed.paths(go, "quantity"):
        is_rounded = path[-1] == "key" and not name.startswith(NOT_ROUNDED)
        for given, kept in (("0.5", "500m"), ("0.0005", "1m" if is_rounded else "500u")):
            found: Any = decoding.decode(go, holding(path, given)).object
            for part in path:
                found = found[part]
            assert found == kept, path
