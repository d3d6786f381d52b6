"""The entry point of the pytest plugin, `inkube.apiserver.pytest_plugin`.

pytest rewrites the assertions of all packages of a distribution that has an entry point, when they
are imported: it parses and compiles each module of inkube, although only those of a test need that,
and in each run if it may not write bytecode. A module next to the package, with a finder for the
package that Python asks before pytest's, avoids that. It works with each version of pytest.

PYTEST_DONT_REWRITE keeps pytest from a warning about modules that were imported before.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class Finder:
    """Finds the modules of inkube as without pytest."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of inkube, or None."""
        if name == "inkube" or name.startswith("inkube."):
            return PathFinder.find_spec(name, path, target)
        return None


sys.meta_path.insert(0, Finder)
from inkube.apiserver import pytest_plugin  # noqa: E402 # the finder finds it

plugin = pytest_plugin
"""What pytest registers."""
