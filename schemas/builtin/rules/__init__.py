"""The rules of built-in types as text: defaults, checks, warnings and gates of fields.

The `.rules` files are the table, one for each API group (several for `core`); docs/rules.md
explains their syntax. `table` parses paragraphs, `words` makes a check of each word, and `compiler`
compiles the paragraphs of a type at its first use. Irregular rules are functions in `calls`, which
the table names and `functions` finds. Strategies use `kinds`. All of it is loaded with the first
write.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
