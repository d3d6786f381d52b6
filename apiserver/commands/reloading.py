"""`inkube serve --reload MODULE`: the kinds that a Python module declares, as its code is now.

The module is imported in this process. After a change, it is imported again, together with the
modules next to it that it uses; those of other folders stay as they are. Code that cannot be
imported leaves the server as it was.
"""

import importlib
import logging
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import inkube
from inkube import kinds
from inkube.apiserver import root
from inkube.apiserver.configuration import Options

logger = logging.getLogger(__name__)


class Code:
    """A module by its name (`harbour.kinds`) or file (`harbour.py`), and what it declares.

    Raises ValueError where it cannot be imported or declares no kinds.
    """

    def __init__(self, text: str) -> None:
        path = Path(text)
        is_file = path.suffix == ".py"
        self._name = path.stem if is_file else text
        sys.path.insert(0, str(path.parent.absolute() if is_file else Path.cwd()))
        self._before = frozenset(sys.modules)
        try:
            self._load()
        except Exception as error:  # whatever the code of a user raises
            raise ValueError(f"{text} cannot be imported: {_shown(error)}") from error
        self._files = root.editedfiles.EditedFiles(self._list)

    async def changed(self) -> None:
        """Wait until the code has changed and was imported again."""
        while True:
            await self._files.changed()
            kept = {name: sys.modules.pop(name) for name in tuple(self._own())}
            try:
                self._load()
            except Exception as error:  # noqa: BLE001 # whatever the code of a user raises
                for name in tuple(self._own()):
                    del sys.modules[name]
                sys.modules.update(kept)
                logger.warning("%s cannot be imported: %s", self._name, _shown(error))
            else:
                return

    def _load(self) -> None:
        importlib.invalidate_caches()
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:  # bytecode is compared by seconds and sizes: two changes in a second can look the same
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
        """The `KindModule`s that the module has names for."""

    def _own(self) -> Iterator[str]:
        """The modules to import again: those in the folder of the module, and below."""
        folder = self._file.parent
        for name, module in tuple(sys.modules.items()):
            file = _file(module)
            if name not in self._before and file is not None and file.is_relative_to(folder):
                yield name

    def _list(self) -> Iterator[Path]:
        files = (_file(sys.modules[name]) for name in self._own())
        yield from {self._file, *filter(None, files)}


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).absolute() if file else None


def _shown(error: Exception) -> str:
    """The place in the code, and what is wrong there."""
    frames = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if each.filename != __file__ and "importlib" not in each.filename
    ]
    place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


async def continued(options: Options, server: "inkube.APIServer") -> Options:
    """The options of a server that takes the place of a running one and keeps its data."""
    options = replace(options, port=server.port)
    if options.data is not None or options.database:
        return options
    return replace(
        options,
        snapshot=await server.snapshot(),
        definitions=options.definitions if options.watch_definitions else (),
        scenario="",
        replay=None,
    )
