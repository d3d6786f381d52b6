"""Clients of a server in the same process: the pipeline of HTTP requests, without HTTP.

    async with APIServer() as server:
        client: Client = server.client        # awaited in the loop of the server
        await client.get("apps/v1/deployments", "web", "default")

    def test_it(kube_client: BlockingClient):  # a server in a thread of its own
        kube_client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

`Client` is what `server.client` and a kind's `Environment.client` are. `BlockingClient` and
`AsyncClient` have the same methods for tests: the first returns when the server has answered, the
second is awaited in a loop of the test's own. A list is a `list` with a `resource_version`. A
resource is written `v1/configmaps` or `apps/v1/deployments`, or is a `GVR`. Objects are plain dicts
of JSON.

Every call passes through decoding, admission, validation and storage as an HTTP request of an
administrator does, and raises `StatusError` where HTTP would answer a Status. Any client of
Kubernetes works over HTTP as well: `server.url`, `server.kubeconfig()`.

Names are loaded when they are first used.
"""

from inkube.schemas import lazy

__getattr__, __dir__ = lazy.public(__name__)
