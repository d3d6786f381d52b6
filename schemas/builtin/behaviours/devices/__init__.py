"""Dynamic resource allocation: classes, slices and claims of devices.

In come stored objects and new ones, out come defaults and errors. `behaviours.of` finds the kinds.
"""
