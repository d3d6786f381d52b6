"""inkube: a Kubernetes-style API server that lives inside a Python process.

    import asyncio
    from inkube import APIServer

    async def main():
        async with APIServer() as server:            # in memory, on a free port
            await server.client.create({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "greeting", "namespace": "default"},
            })
            print(server.url, server.kubeconfig())   # for kubectl and every other client

    asyncio.run(main())

It behaves like kube-apiserver 1.36 and needs no Go, no etcd and no Docker. On the command line,
use `inkube serve`.

The public modules are

    inkube            the server, its options, and workloads that run
    inkube.kinds      kinds declared in Python: models, rules, live checks, controllers
    inkube.client     clients in the same process, blocking and awaited
    inkube.explore    crashes, faults and races for a controller, in every place
    inkube.formats    formats of Kubernetes and Go: quantities, selectors, times, CEL
    inkube.testing    fixtures of pytest, unittest, faults, snapshots, clocks, a scripted world

The changelog lists every change of these modules. Everything else (inkube.apiserver,
inkube.controllers, inkube.schemas, inkube.storage) is private: it can change in any release.

Names are loaded when they are first used, so that `import inkube` takes a few milliseconds.
For pytest: PYTEST_DONT_REWRITE.
"""

from inkube.schemas import lazy

__version__ = "0.2.0"
__getattr__, __dir__ = lazy.public(__name__)
