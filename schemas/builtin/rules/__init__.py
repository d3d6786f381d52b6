"""The rules of built-in types as text: defaults, checks, warnings and gates of fields.

The `.rules` files are the table, one per API group (`core` in several); docs/rules.md says how to
read them. `table` reads paragraphs, `words` makes a check of each word, `compiler` closures of
paragraphs, a type when it is first wanted. What is irregular is a function in `calls` that the
table names. `kinds` has what the strategies ask; all of it is loaded with the first write.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
