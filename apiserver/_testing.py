"""Tests against a server: fixtures, unittest, faults, snapshots, clocks, a scripted world.

With pytest nothing is imported: the plugin comes with the package.

    def test_my_operator(kube, kube_client):
        kube_client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        kube.settled()
        assert kube_client.get("v1/configmaps", "a")

The names of this module are for annotations (`kube: Kube`), for unittest (`KubeTestCase`), and for
your own servers:

    with LoopThread() as thread, running(thread, Plan()) as kube:
        kube.client.list("v1/namespaces")

`kube.fail(…)` makes requests fail, `kube.snapshot()` keeps a state for other servers to begin with,
`kube.advance(…)` moves the clock, the fixture `world` scripts the systems outside. The guide is
docs/pytest.md. Names are loaded when they are first used.
"""

from inkube.schemas import lazy

__getattr__, __dir__ = lazy.public(__name__)
