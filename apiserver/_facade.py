"""inkube: a Kubernetes-style API server that lives inside a Python process.

Nothing is imported until it is used, so that `import inkube` stays cheap.
"""

from inkube.schemas import lazy

__version__ = "0.1.0"
__getattr__ = lazy.exports(__name__)
