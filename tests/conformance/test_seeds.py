"""The same seed gives the same bytes: recorded conversations run twice, in two processes.

Every twelfth of them here; all of them in `make exams`.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import seeded
import yaml
from patience import PATIENCE

HERE = Path(__file__).parent
IS_LONG = os.environ.get("INKUBE_EXAMS") == "long"
EVERY = 1 if IS_LONG else 12
TRIES = {"more-apply-schema-change", "webhook-order", "more-apiservice-unavailable"}
"""Conversations that repeat a write as long as there is time, and the one during which the server
polls another server."""
MEASURED = {"/metrics", "/metrics/slis", "/statusz"}
SLOW = {"more-validation-server"}


def cases() -> list[str]:
    names = sorted(path.stem for path in (HERE / "cases").glob("*.yaml"))
    chosen = names[::EVERY]
    return [name for name in chosen if name not in TRIES and (IS_LONG or name not in SLOW)]


def notes(target: Path, chosen: list[str], hashes: int) -> dict[str, list[list[object]]]:
    """The records of a run by conversation. The hash seed changes the order of sets in each run."""
    subprocess.run(
        [sys.executable, str(HERE / "seeded.py"), str(target), *chosen],
        env={**os.environ, "PYTHONHASHSEED": str(hashes)},
        check=True, timeout=600 * PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, list[list[object]]] = defaultdict(list)
    for line in target.read_text().splitlines():
        name, *note = json.loads(line)
        if len(note) < 2 or str(note[1]).partition("?")[0] not in MEASURED:
            found[name].append(note)
    return found


def test_webhooks_of_seeded_conversations_have_time_on_a_busy_machine() -> None:
    """An endpoint either responds far within its limit, or never."""
    case = yaml.safe_load((HERE / "cases" / "webhook-failure.yaml").read_text())
    case = seeded.without_haste(case)
    [hooks] = [each["object"]["webhooks"] for each in case["given"] if "object" in each]
    limits = {hook["timeoutSeconds"] for hook in hooks}
    delays = {rule.get("delay", 0) for rules in case["webhooks"].values() for rule in rules}
    assert limits == {seeded.HOOK_SECONDS}
    assert delays == {0, 0.3, seeded.NEVER}


@pytest.mark.timeout(1200)
def test_a_seed_gives_the_same_bytes_again(tmp_path: Path) -> None:
    chosen = cases()
    one, two = (notes(tmp_path / f"{run}.txt", chosen, run) for run in (1, 2))
    assert set(one) == set(chosen)
    differing = {
        name: next(pair for pair in zip(one[name], two[name], strict=False) if pair[0] != pair[1])
        for name in one
        if one[name] != two[name] and len(one[name]) == len(two[name])
    }
    assert differing == {}
    assert {name: len(notes) for name, notes in one.items()} == {
        name: len(notes) for name, notes in two.items()
    }
