"""In CI every property is tried on the same examples, so that a red run can be repeated."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
