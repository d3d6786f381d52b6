"""The modules that a server serves: those of inkube, and those of installed packages.

Input: names from `Options.modules` or the command line. Output: these names and those of required
modules, in the order in which modules are built, and their groups. `declared` builds the
modules. Packages are searched only for a name that is not a module of inkube, because the search
takes longer than most of a start.

    selection     names, requirements and groups
    descriptions  of inkube's modules, from `builtin`
    installed     modules of packages with the entry point group `inkube.modules`
    outlines      kinds of inkube's own modules for discovery, without loading the modules
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
