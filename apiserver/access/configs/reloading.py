"""Configuration files that are read again while the server runs.

A file that cannot be read or is invalid leaves the previous settings in force, and is logged.
Loaded only with such a file. Follows pkg/kubeapiserver/options/authentication.go and
pkg/kubeapiserver/authorizer/reload.go.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from inkube.apiserver.samples import Samples

logger = logging.getLogger(__name__)
_RETRY: Final = 10.0
"""Seconds after which settings that could not be used yet are tried again."""


class NotReadyError(Exception):
    """New settings are valid, but depend on a server that does not respond yet."""


class ConfigFile:
    """One file. `component` is `authentication` or `authorization`. `apply` reads the file again
    and puts its settings into force; it raises ValueError, OSError and NotReadyError."""

    def __init__(self, path: Path, component: str, apply: Callable[[], Awaitable[None]]) -> None:
        self.path = path
        self.component = component
        self._apply = apply
        self._data = path.read_bytes()

    @property
    def content_hash(self) -> str:
        """The hash of the content that was read last, in metrics."""
        return Samples.hash_label(self._data)

    async def check(self) -> bool | None:
        """Apply the content of the file if it has changed. Returns whether that succeeded, and None
        if nothing has changed. Raises OSError and NotReadyError if it can succeed later."""
        data = await asyncio.to_thread(self.path.read_bytes)
        if data == self._data:
            return None
        try:
            await self._apply()
        except (ValueError, OSError) as error:
            self._data = data
            logger.warning("reloading %s config: %s", self.component, error)
            return False
        self._data = data
        logger.info("reloaded %s config", self.component)
        return True


class Reloading:
    """Checks files when `wait_for_change` returns, and at its start."""

    def __init__(
        self,
        files: Sequence[ConfigFile],
        wait_for_change: Callable[[], Awaitable[object]],
        samples: Samples,
    ) -> None:
        self._files = files
        self._wait_for_change = wait_for_change
        self._samples = samples
        self._identity = samples.server_label
        for file in files:
            self._record_content(file)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check the files until the end of the block."""
        task = asyncio.create_task(self._run(), name="configuration files")
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            results = [await self._check(each) for each in self._files]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if all(results) else _RETRY):
                    await self._wait_for_change()

    async def _check(self, file: ConfigFile) -> bool:
        """Check one file. Returns whether it needs no other attempt."""
        try:
            succeeded, is_final = await file.check(), True
        except (OSError, NotReadyError) as error:
            logger.warning("reloading %s config: %s", file.component, error)
            succeeded, is_final = False, False
        if succeeded is not None:
            prefix = f"apiserver_{file.component}_config_controller_automatic_reload"
            labels = "success" if succeeded else "failure", self._identity
            self._samples.add(f"{prefix}s_total", *labels)
            self._samples.put(time.time(), f"{prefix}_last_timestamp_seconds", *labels)
            if succeeded:
                self._record_content(file)
        return is_final

    def _record_content(self, file: ConfigFile) -> None:
        """Record the hash of the settings in force."""
        name = f"apiserver_{file.component}_config_controller_last_config_info"
        self._samples.forget(name)
        self._samples.put(1, name, self._identity, file.content_hash)
