"""The commands of `inkube` other than `serve`, one or two in each module.

Input: arguments. Output: text. `cli` calls a command and loads it at its first use.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
