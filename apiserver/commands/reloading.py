"""`inkube serve --reload MODULE`: serves the kinds of a Python module, and follows changes of its
code.

The module is imported in this process, after another process has imported it (`importing`). After a
change, both import it again, together with the modules in its folder that it uses. Modules in other
folders stay as they are. If the code cannot be imported, the running server does not change.
"""

import asyncio
import importlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import inkube
from inkube import kinds
from inkube.apiserver import manifests
from inkube.apiserver.commands import importing
from inkube.apiserver.configuration import Options

logger = logging.getLogger(__name__)


class Code:
    """A module by its name (`harbour.kinds`) or its file (`harbour.py`), and the kinds that it
    declares.

    Raises ValueError if it cannot be imported or declares no kinds.
    """

    def __init__(self, text: str) -> None:
        path = Path(text)
        is_file = path.suffix == ".py"
        self._name = path.stem if is_file else text
        self._folder = str(path.parent.absolute() if is_file else Path.cwd())
        problem = asyncio.run(importing.problem(self._name, self._folder))
        if problem:
            raise ValueError(f"{text} cannot be imported: {problem}")
        sys.path.insert(0, self._folder)
        self._initial_modules = frozenset(sys.modules)
        try:
            self._load()
        except (Exception, SystemExit) as error:  # code of users can raise anything
            described = importing.describe(error)
            raise ValueError(f"{text} cannot be imported: {described}") from error
        self._files = manifests.EditedFiles(self._list)

    async def wait_for_change(self) -> None:
        """Wait until the code has changed and is imported again."""
        await self._files.wait_for_change()
        while True:
            changed = asyncio.create_task(self._files.wait_for_change())
            probing = asyncio.create_task(importing.problem(self._name, self._folder))
            try:
                await asyncio.wait({changed, probing}, return_when=asyncio.FIRST_COMPLETED)
                if changed.done():
                    continue  # the code of the other process is not the newest
                problem = await probing or self._load_again()
                if not problem:
                    return
                logger.warning("%s cannot be imported: %s", self._name, problem)
                await changed
            finally:
                for task in (changed, probing):
                    task.cancel()
                await asyncio.gather(changed, probing, return_exceptions=True)

    def _load_again(self) -> str:
        """Import the changed module, and return why it cannot be imported, or ""."""
        kept = {name: sys.modules.pop(name) for name in tuple(self._user_modules())}
        try:
            self._load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 # whatever the code of a user raises
            for name in tuple(self._user_modules()):
                del sys.modules[name]
            sys.modules.update(kept)
            return importing.describe(error)
        return ""

    def _load(self) -> None:
        importlib.invalidate_caches()
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:  # bytecode is compared by seconds and size: two changes in a second can look equal
            module = importlib.import_module(self._name)
        finally:
            sys.dont_write_bytecode = writes
        file = _file(module)
        if file is None:
            raise ValueError(f"{self._name} is not a Python file")
        self._file = file
        found = [each for each in vars(module).values() if isinstance(each, kinds.KindModule)]
        if not found:
            raise ValueError(f"{self._name} assigns no KindModule to a name of the module")
        self.kinds = tuple(dict.fromkeys(found))
        """The `KindModule`s to which the module has names."""

    def _user_modules(self) -> Iterator[str]:
        """Yield the modules to import again: those in the folder of the module and below it."""
        folder = self._file.parent
        for name, module in tuple(sys.modules.items()):
            file = _file(module)
            if (
                name not in self._initial_modules
                and file is not None
                and file.is_relative_to(folder)
            ):
                yield name

    def _list(self) -> Iterator[Path]:
        files = (_file(sys.modules[name]) for name in self._user_modules())
        yield from {self._file, *filter(None, files)}


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).absolute() if file else None


async def options_to_continue(options: Options, server: "inkube.APIServer") -> Options:
    """Return the options of a server that replaces a running one and keeps its data."""
    options = replace(options, port=server.port)
    if options.data is not None or options.database:
        return options
    return replace(
        options,
        snapshot=await server.snapshot(),
        definitions=options.definitions if options.watch_definitions else (),
        module_options={**options.module_options, "scenario": ""},
        replay=None,
    )
