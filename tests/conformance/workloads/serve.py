"""The server for recordings of workloads: prints its URL, ends on SIGTERM.

As during the recording, it has no metrics API, and its autoscaler runs every two seconds.
"""

import asyncio
import signal

import inkube


async def main() -> None:
    """Serve until SIGTERM."""
    settings = inkube.Workloads(autoscaler_period=2.0, metrics=False)
    async with inkube.APIServer(workloads=settings) as server:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        print(server.url, flush=True)
        await stop.wait()


asyncio.run(main())
