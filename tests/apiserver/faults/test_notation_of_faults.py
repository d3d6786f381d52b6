"""`kube.fail` and Faults take each notation of a resource, and a name of nothing is told."""

import json
import urllib.error
import urllib.request

import boats
import pytest

from inkube.apiserver.testing import LoopThread
from inkube.apiserver.testing.kube import Plan, running

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def kube():
    with LoopThread() as thread, running(thread, Plan()) as made:
        yield made


def code_of(kube, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(kube.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("text", ["configmaps", "ConfigMap", "cm", "v1/configmaps", "v1/ConfigMap"])
def test_a_request_fails_however_its_resource_is_written(kube, text):
    with kube.fail("list", text, code=503) as failing:
        assert code_of(kube, "GET", MAPS) == 503
        assert code_of(kube, "GET", "/api/v1/namespaces/default/secrets") == 200
    assert failing.injected == 1


@pytest.mark.parametrize(
    "text", ["deployments.apps/scale", "Deployment/scale", "deploy.apps/scale"]
)
def test_a_subresource_is_selected_on_its_own(kube, text):
    path = "/apis/apps/v1/namespaces/default/deployments/none"
    with kube.fail("get", text, code=503):
        assert code_of(kube, "GET", path) == 404
        assert code_of(kube, "GET", f"{path}/scale") == 503
    kube.log.expect(verb="get", resource=text, code=503)


def test_a_short_name_selects_a_kind_that_is_served_later(kube):
    definition = boats.definition({"type": "object"}, names={"shortNames": ["bo"]})
    path = "/apis/example.com/v1/namespaces/default/boats"
    with pytest.warns(UserWarning, match="nothing is served as 'bo'"):
        failing = kube.fail("list", "bo", code=503).__enter__()
    assert code_of(kube, "GET", path) == 404
    kube.client.create(definition)
    kube.settled()
    assert code_of(kube, "GET", path) == 503
    failing.__exit__(None, None, None)


def test_a_resource_that_is_never_served_is_named(kube):
    failing = kube.fail("list", "configmapz")
    with pytest.warns(UserWarning, match="nothing is served as 'configmapz'"), failing:
        assert code_of(kube, "GET", MAPS) == 200
    assert failing.matched == 0
