"""Tests of `inkube validate` run in a folder of their own."""

import pytest
from validating import runner


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write files by path, run the command in their folder; return its outcome."""
    monkeypatch.chdir(tmp_path)
    return runner(tmp_path)
