"""The first code of `dist/inkube`: programs that it starts get the original environment.

The executable unpacks itself, and sets variables with the location of its libraries. kubectl, or a
program of a simulated pod, would otherwise load these libraries instead of its own.
"""

import os

for name in [name for name in os.environ if name.startswith("_PYI_")]:
    del os.environ[name]
for name in ("LD_LIBRARY_PATH", "LIBPATH"):
    original = os.environ.pop(f"{name}_ORIG", None)
    if original is not None:
        os.environ[name] = original
    else:
        os.environ.pop(name, None)
