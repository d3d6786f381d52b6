"""Field ownership: metadata.managedFields, typed values, their merge, server-side apply.

Inputs: an object before and after a write, its manager and a `typed.Versions` of its kind. Outputs:
new entries of managedFields, merged objects, or a conflict. `managedfields` tracks ordinary writes,
`apply` is server-side apply. The registry calls both. The room corresponds to
structured-merge-diff.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
