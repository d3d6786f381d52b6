"""The files of a package: documents that keep their text, the Kptfile, upgrades, rendering. Pure.

Input and output: texts by path; errors describe the problems of the files. This room depends on
neither git nor objects. `git` finds packages with it; `writes` and `variants` create the files of
packages with it.
"""
