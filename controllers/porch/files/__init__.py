"""The files of a package: documents that keep their text, the Kptfile, upgrades, rendering. Pure.

In come texts by path, out come texts by path, or what is wrong with them. It knows neither git nor
objects; `git` finds packages by it, `writes` and `variants` make their files by it.
"""
