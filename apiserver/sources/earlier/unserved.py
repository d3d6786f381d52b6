"""Stored objects of modules that are not served: they are kept, and the log names them.

Input: the store and the names of the served modules. Output: one warning for each other module of
inkube that has stored objects.
"""

from collections.abc import Collection, Iterator

from inkube.apiserver import modules
from inkube.apiserver.registry import keys
from inkube.storage import Store


def warnings(store: Store, served: Collection[str]) -> Iterator[str]:
    """Yield the warnings, in the order of the modules."""
    for name, module in modules.built_in().items():
        count = 0 if name in served else sum(store.count(keys.of_group(g)) for g in module.groups)
        if count:
            option = f"--{name}" if name in modules.OF_OPTIONS else f"--modules default,{name}"
            yield (
                f"the data contains {count} objects of the module {name}, which is not served: "
                f"they are kept, and served again with {option}"
            )
