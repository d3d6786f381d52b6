"""What held once keeps holding: the counts per grade never fall below `floor.json`."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "floor.json").read_text())


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


table = load("table")


@pytest.mark.timeout(900)
def test_the_recorded_conversations_hold() -> None:
    with table.server() as url:
        report, counts = table.replay(url)
    assert_floor("replay", counts, report)


@pytest.mark.timeout(900)
def test_the_recorded_kubectl_sessions_hold() -> None:
    client = table.reference_kubectl()
    if client is None:
        pytest.skip("kubectl 1.33 is not installed")
    with table.server() as url:
        report, counts = table.kubectl(url, client)
    assert_floor("kubectl", counts, report)


def assert_floor(name: str, counts: dict[str, int], report: str) -> None:
    fallen = {
        grade: f"{counts[grade]} < {least}"
        for grade, least in FLOOR[name].items()
        if counts[grade] < least
    }
    assert not fallen, f"{fallen}\n{report}"
