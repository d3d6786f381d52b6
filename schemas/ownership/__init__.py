"""Who owns which field: metadata.managedFields, typed values, their merge, server-side apply.

In come an object before and after a write, its manager and a `typed.Versions` of its kind; out come
new entries of managedFields, merged objects, or a conflict. `managedfields` tracks ordinary writes,
`apply` is server-side apply; the registry calls both. The twin of structured-merge-diff.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
