"""Parsing of method and path into request attributes (apiserver.requests)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.apiserver.http import requests

CASES = [
    ("GET", "/api/v1/pods", "list", "", "pods", "", ""),
    ("GET", "/api/v1/namespaces/a/pods", "list", "a", "pods", "", ""),
    ("POST", "/api/v1/namespaces/a/pods", "create", "a", "pods", "", ""),
    ("GET", "/api/v1/namespaces/a/pods/b", "get", "a", "pods", "b", ""),
    ("HEAD", "/api/v1/namespaces/a/pods/b", "get", "a", "pods", "b", ""),
    ("PUT", "/api/v1/namespaces/a/pods/b/status", "update", "a", "pods", "b", "status"),
    ("PATCH", "/apis/g.io/v1/namespaces/a/boats/b/scale", "patch", "a", "boats", "b", "scale"),
    ("DELETE", "/api/v1/namespaces/a/pods/b", "delete", "a", "pods", "b", ""),
    ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection", "a", "pods", "", ""),
    ("GET", "/api/v1/namespaces", "list", "", "namespaces", "", ""),
    ("GET", "/api/v1/namespaces/a", "get", "a", "namespaces", "a", ""),
    ("PUT", "/api/v1/namespaces/a/finalize", "update", "a", "namespaces", "a", "finalize"),
    ("PUT", "/api/v1/namespaces/a/status", "update", "a", "namespaces", "a", "status"),
    ("GET", "/api/v1/watch/pods", "watch", "", "pods", "", ""),
    ("GET", "/api/v1/watch/namespaces/a/pods", "watch", "a", "pods", "", ""),
    ("GET", "/apis/g.io/v1/boats", "list", "", "boats", "", ""),
    ("GET", "/api/v1/namespaces/a/pods/", "list", "a", "pods", "", ""),
    ("GET", "/api/v1/namespaces/a%2Fpods", "list", "a", "pods", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "expected"), [(m, p, rest) for m, p, *rest in CASES])
def test_a_path_names_a_verb_on_a_resource(method, path, expected):
    info = requests.parse(method, path)
    assert info.is_resource
    assert [info.verb, info.namespace, info.resource, info.name, info.subresource] == expected


@pytest.mark.parametrize(
    "path",
    ["/", "", "//", "/api", "/api/v1", "/apis", "/apis/g.io/v1", "/healthz", "//api/v1/pods",
     "/api/v1//pods", "/api//v1/pods", "/apis/g.io//boats", "/other/v1/pods", "*"],
)  # fmt: skip
def test_other_paths_name_no_resource(path):
    info = requests.parse("GET", path)
    assert not info.is_resource
    assert info.verb == "get"


def test_a_list_with_watch_is_a_watch():
    assert requests.parse("GET", "/api/v1/pods", "watch=1").verb == "watch"


def test_segments_beyond_the_subresource_are_kept():
    info = requests.parse("GET", "/api/v1/namespaces/a/pods/b/proxy/c/d")
    assert info.further_segments == ("c", "d")


def test_methods_nobody_serves_have_no_verb():
    assert requests.parse("PROPFIND", "/api/v1/pods").verb == ""


SEGMENTS = st.sampled_from(
    ["watch", "proxy", "namespaces", "a", "pods", "a%2Fpods", "%00", "status"]
)
TARGETS = st.tuples(
    st.sampled_from(["GET", "POST", "PUT", "PROPFIND"]),
    st.sampled_from(["/api/v1", "/apis/g.io/v1"]),
    st.lists(SEGMENTS, min_size=1, max_size=6),
)


@given(TARGETS, TARGETS)
def test_requests_have_the_same_shape_only_if_one_handler_serves_them(one, other):
    infos = [
        requests.parse(method, f"{root}/{'/'.join(rest)}") for method, root, rest in (one, other)
    ]
    parts = {
        (
            i.method, i.verb, i.group, i.version, i.resource, i.subresource, i.deprecated_prefix,
            bool(i.namespace), bool(i.name), bool(i.further_segments),
        )
        for i in infos
    }  # fmt: skip
    assert len({info.shape for info in infos}) == len(parts)


TRICKS = st.tuples(
    st.sampled_from(["GET", "POST", "PROPFIND"]),
    st.sampled_from(["/api/v1", "/api/v1/namespaces", "", "/", "/110/get", "/get%20/110"]),
    st.lists(st.sampled_from(["%20", "get%20", "/", "110", "get", "v1", "pods"]), max_size=5),
)


@given(TRICKS, TRICKS)
def test_requests_have_the_same_flow_key_only_if_no_flow_schema_tells_them_apart(one, other):
    """Flow schemas match verbs, groups, resources and namespaces, or the paths of others."""
    one, other = (
        requests.parse(method, f"{root}/{'/'.join(rest)}") for method, root, rest in (one, other)
    )
    matched = [
        (each.verb, each.group, each.resource, each.subresource, each.namespace)
        if each.is_resource
        else (each.verb, each.path)
        for each in (one, other)
    ]
    if one.flow_key == other.flow_key:
        assert matched[0] == matched[1]


def test_a_namespace_from_elsewhere_has_the_flow_key_of_one_in_the_path():
    found = requests.with_namespace(requests.parse("GET", "/apis/g.io/v1/boats/b"), "a")
    in_path = requests.parse("GET", "/apis/g.io/v1/namespaces/a/boats/b")
    assert (found.shape, found.flow_key) == (in_path.shape, in_path.flow_key)
