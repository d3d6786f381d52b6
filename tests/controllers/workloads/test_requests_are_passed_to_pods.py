"""The proxy of pods and services reaches a function that listens on a port, like port-forward."""

import http.client
import json
import urllib.error
import urllib.request

import pytest
from patience import SECONDS

from inkube import pod

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"


@pod(image="web")
async def web(container):
    await container.sleep(100_000)


@web.port(8080)
async def answer(container, connection):
    """A small HTTP server that returns the request."""
    asked = b""
    while b"\r\n\r\n" not in asked:
        asked += await connection.read()
    head, _, body = asked.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    while len(body) < int(headers.get("content-length", 0)):
        body += await connection.read()
    told = json.dumps({"asked": lines[0], "headers": headers, "body": body.decode()}).encode()
    code = "418 I'm a teapot" if "/teapot" in lines[0] else "200 OK"
    await connection.write(
        f"HTTP/1.1 {code}\r\nContent-Length: {len(told)}\r\nX-Mine: yes\r\n\r\n".encode() + told
    )


pytestmark = pytest.mark.kube_workloads(controllers={"kubelet"}, pods=[web])


@pytest.fixture
def served(kube):
    """A pod that serves on 8080, and a service for it with the port `http`."""
    container = {"name": "c", "image": "web", "ports": [{"containerPort": 8080}]}
    meta = {"name": "p", "namespace": "default"}
    kube.client.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {"nodeName": "kube-node-1", "containers": [container]},
        }
    )
    kube.settled()
    address = kube.client.get("v1/pods", "p", "default")["status"]["podIP"]
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    kube.client.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "default"},
            "spec": {"ports": ports},
        }
    )
    target = {"kind": "Pod", "name": "p", "namespace": "default"}
    subset = {
        "addresses": [{"ip": address, "targetRef": target}],
        "ports": [{"name": "http", "port": 8080}],
    }
    kube.client.create(
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "s", "namespace": "default"},
            "subsets": [subset],
        }
    )
    return kube


def ask(kube, path, method="GET", body=None, **headers):
    request = urllib.request.Request(kube.url + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as found:
            return found.status, found.headers, found.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.mark.parametrize(
    "place",
    [f"{PODS}/p:8080", f"{PODS}/p", f"{PODS}/http:p:8080", f"{SERVICES}/s:http",
     f"{SERVICES}/s:80", f"{SERVICES}/s"],
)  # fmt: skip
def test_a_request_is_passed_on_and_its_answer_comes_back(served, place):
    headers = {"X-Own": "1", "Content-Type": "text/plain"}
    path = f"{place}/proxy/a/b%20c/?q=1&q=%2F"
    code, told, body = ask(served, path, "POST", b"hello", **headers)
    found = json.loads(body)
    assert (code, told["X-Mine"]) == (200, "yes")
    assert found["asked"] == "POST /a/b%20c/?q=1&q=%2F HTTP/1.1"
    assert (found["body"], found["headers"]["x-own"]) == ("hello", "1")
    assert found["headers"]["x-forwarded-uri"] == path.partition("?")[0]
    assert found["headers"]["host"] == served.url.removeprefix("http://")


def test_a_failure_of_the_pod_is_the_answer(served):
    code, _, body = ask(served, f"{PODS}/p:8080/proxy/teapot")
    assert (code, json.loads(body)["asked"]) == (418, "GET /teapot HTTP/1.1")


def test_a_proxy_request_without_a_path_is_redirected_to_the_root(served):
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=SECONDS)
    connection.request("GET", f"{PODS}/p:8080/proxy?a=1")
    found = connection.getresponse()
    found.read()
    connection.close()
    assert (found.status, found.headers["Location"]) == (301, f"{PODS}/p:8080/proxy/?a=1")


def test_a_port_on_which_nobody_listens_is_unavailable(served):
    code, _, body = ask(served, f"{PODS}/p:81/proxy/")
    found = json.loads(body)
    assert (code, found["reason"]) == (503, "ServiceUnavailable")
    assert found["message"].startswith("error trying to reach service: ")
    assert "nothing listens there" in found["message"]
