"""Which modules a server serves: those that come with inkube, and those of installed packages.

In come names, as `Options.modules` and the command line give them; out come names with what they
need, in the order in which they are built, and their groups. `root.declared` builds them. Packages
are looked for only where a name is asked for that inkube itself does not have: that takes longer
than most of a start.

    selection   names, what they need, their groups; those of inkube from `builtin.json`
    installed   what packages offer under the entry point group `inkube.modules`
    outlines    what discovery shows of inkube's own modules, known without loading them
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
