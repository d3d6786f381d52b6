"""inkube: a Kubernetes-style API server that lives inside a Python process.

Nothing is imported until it is used, so that `import inkube` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkube.apiserver.server import APIServer as APIServer
    from inkube.apiserver.server import Options as Options
    from inkube.controllers.workloads import Workloads as Workloads
    from inkube.controllers.workloads.kubelet.functions import pod as pod

__version__ = "0.1.0"

_HOMES = {
    "APIServer": "inkube.apiserver.server",
    "Options": "inkube.apiserver.server",
    "Workloads": "inkube.controllers.workloads",
    "pod": "inkube.controllers.workloads.kubelet.functions",
}

__all__ = ["APIServer", "Options", "Workloads", "__version__", "pod"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'inkube' has no attribute {name!r}")
