"""The served kinds as controllers see them: the table of kinds and the changes of the store.

Input: the store and the table of served kinds. Output: `LiveCatalog` for the controllers of
garbage, quotas and namespaces, `LiveSchemas` for the type checks of policies, and definitions that
are served before their writer receives a response. `root` gives them to controllers.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
