"""What the command line does beside `inkube serve`: a module for each command or two.

In come arguments, out comes text; `cli` calls, and loads each command when it is asked for.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
