"""The server that the recordings of workloads are held with: prints its URL, ends by SIGTERM.

As they were made: no metrics API, an autoscaler that looks every two seconds.
"""

import asyncio
import signal

import inkube


async def main() -> None:
    """Serve until told to stop."""
    settings = inkube.Workloads(autoscaler_period=2.0, metrics=False)
    async with inkube.APIServer(workloads=settings) as server:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        print(server.url, flush=True)
        await stop.wait()


asyncio.run(main())
