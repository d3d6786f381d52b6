import asyncio
from collections.abc import AsyncIterator

from inkube import APIServer
from inkube.kinds import Invalid, KindModule, Model, Problem, Resource, check


class ProbeSpec(Model):
    host: str
    port: int


class Probe(Resource, group="example.com", version="v1"):
    spec: ProbeSpec


@check(Probe, field="spec.port")
async def listens(probe: Probe) -> AsyncIterator[Problem]:
    try:
        _, writer = await asyncio.open_connection(probe.spec.host, probe.spec.port)
        writer.close()
    except OSError as error:
        yield Invalid(f"nothing listens on {probe.spec.host}: {error.strerror}")


async def main() -> None:
    async with APIServer(
        kinds=[KindModule(Probe, checks=[listens])], recheck_unhealthy=1
    ) as server:
        print(f"kubectl --server {server.url} explain probe", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
