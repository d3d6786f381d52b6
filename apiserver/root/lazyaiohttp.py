"""aiohttp without its client, until something asks for it.

`aiohttp/__init__.py` imports the client and all that goes with it: connectors, resolvers, cookies,
the certificates of every authority that the machine trusts. A server needs none of that until it
calls a webhook, another API server or a repository: 4.6 MiB, and a quarter of the time that
`import aiohttp.web` takes; where aiodns is installed 5.9 and two fifths.
"""

import importlib.util
import pkgutil
import re
import sys
import threading
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

_PACKAGE = "aiohttp"
_VERSION = re.compile(r"""^__version__ = ["']([^"']+)["']""", re.MULTILINE)


def postpone_client() -> None:
    """Let `import aiohttp.web` import no client; the first use of a name of `aiohttp` does.

    For a process that is ours from its start: where aiohttp is imported already, nothing changes.
    All that can be imported from aiohttp still can, and is the same.
    """
    if _PACKAGE in sys.modules:
        return
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        return  # not installed, as the next import says, or in an archive of its own kind
    version = _VERSION.search(spec.loader.get_source(_PACKAGE) or "")
    if version is None:
        return
    package = importlib.util.module_from_spec(spec)
    package.__dict__["__version__"] = version[1]  # which `aiohttp.http` imports
    package.__dict__["__getattr__"] = _Rest(package, spec, spec.loader).find
    sys.modules[_PACKAGE] = package


class _Rest:
    """What the package's own code defines, which runs when the first name of it is asked for.

    A module's `__getattr__` is asked for the names that the module has not (PEP 562). Submodules
    are none of them: `from aiohttp import web` asks first, and imports what it is not given.
    """

    def __init__(self, package: ModuleType, spec: ModuleSpec, loader: SourceFileLoader) -> None:
        self.package = package
        self.loader = loader
        self.submodules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        self.turn = threading.RLock()
        self.is_loading = self.is_loaded = False

    def find(self, name: str) -> Any:
        """The value of a name of aiohttp. Raises AttributeError, and what the import raises."""
        is_asked_of_every_module = name.startswith("__") and name != "__all__"
        if name not in self.submodules and not is_asked_of_every_module:
            with self.turn:  # a thread that comes second waits for the first
                if not self.is_loading:  # by this thread: the code asks for what it defines later
                    self._load()
                    return getattr(self.package, name)
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")

    def _load(self) -> None:
        if self.is_loaded:
            return
        self.is_loading = True
        try:
            self.loader.exec_module(self.package)
        finally:
            self.is_loading = False
        self.is_loaded = True
        if self.package.__dict__["__getattr__"] == self.find:  # else the package has its own
            del self.package.__dict__["__getattr__"]
