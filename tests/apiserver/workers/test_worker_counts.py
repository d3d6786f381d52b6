"""`--workers auto` uses the cores available to the process, or one where several cannot serve."""

import os

import pytest

from inkube.apiserver.configuration import Options
from inkube.apiserver.workers import cores


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1)],
)
def test_a_container_has_the_cores_of_its_quota(tmp_path, monkeypatch, quota, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert cores.usable(tmp_path / "cpu.max") == expected


def test_without_a_quota_the_affinity_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2}, raising=False)
    assert cores.usable(tmp_path / "none") == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers need a system that forks")
def test_large_machines_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "usable", lambda: 64)
    assert cores.count(Options(data=tmp_path / "f.db")) == cores.MAX_WORKERS


def test_servers_in_memory_have_one_process(monkeypatch):
    monkeypatch.setattr(cores, "usable", lambda: 64)
    assert cores.count(Options()) == 1
