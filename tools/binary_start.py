"""What `dist/inkube` runs first: programs that it starts get the environment it was started in.

The executable unpacks itself and tells its second half by variables where its libraries lie. A
kubectl, or what a simulated Pod runs, would load those instead of its own.
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
