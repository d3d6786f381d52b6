"""Exams: stress tests of a server, short in every run and long in `make exams`."""

import sys

import pytest
import served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def serve(tmp_path):
    """`with serve("--in-memory") as server:` runs a server in its own process."""
    return lambda *arguments, **options: served.Served(tmp_path, *arguments, **options)
