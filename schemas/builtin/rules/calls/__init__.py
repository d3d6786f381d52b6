"""Functions that the table of rules names with `call=`: irregular rules, one module per family.

`call=affinity` in core.pods.rules is `affinity` in `calls/core_pods.py`; `call=core_storage.source`
names another module. A function receives (value, path, frame) and returns or yields field errors.
`if=@name` names a predicate of the frame. `default=@name` and `defaults=name` name functions that
receive the object of the struct.
"""
