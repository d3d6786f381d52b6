"""kube-apiserver's answers are the judge of `inkube upgrade`: it names every odd field that a minor
accepts, and that a later one refuses.

`tests/conformance/upgrades.jsonl.xz` has a line for each such field: the object that it changes,
the place and the value in it, and the codes of the six minors for the create or the update.
INKUBE_EXAMS=long compares all pairs of minors.
"""

import contextlib
import copy
import itertools
import json
import lzma
import os
from pathlib import Path

import pytest

from inkube import APIServer, Options
from inkube.apiserver import sources, upgrades
from inkube.apiserver.upgrades.rehearsal import RehearsalOptions
from inkube.apiserver.upgrades.statements import ERRORS
from inkube.schemas.lastapplied import LAST_APPLIED
from inkube.schemas.status import StatusError

IS_LONG = os.environ.get("INKUBE_EXAMS") == "long"
RECORDED = Path(__file__).parents[2] / "conformance/upgrades.jsonl.xz"
MINORS = [f"1.{minor}" for minor in range(31, 37)]
PAIRS = list(itertools.combinations(MINORS, 2)) if IS_LONG else [("1.35", "1.36")]
ALONE = {"CustomResourceDefinition", "APIService", "IPAddress"}
"""Kinds whose names have a meaning."""
NOT_IN_DATA = {
    # it is a request, whose object is not stored: `--audit-log` names it
    ("SubjectAccessReview", "spec.resourceAttributes.fieldSelector", "{}"),
    # the earlier minor drops this field, so its data does not have the value that is removed here
    ("Job", "spec.managedBy", "absent"),
    ("PersistentVolumeClaim", "spec.volumeAttributesClassName", "null"),
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fields"}}


def questions(old, new):
    with lzma.open(RECORDED, "rt") as lines:
        for number, line in enumerate(lines):
            found = json.loads(line)
            codes = found["codes"]
            if codes.get(old, 500) < 300 and codes.get(new, 0) >= 400:
                yield number, found


def _name(question):
    value = json.dumps(question["value"]) if "value" in question else "absent"
    return question["object"]["kind"], ".".join(map(str, question["place"])), value


def changed(obj, question):
    """Return the object with the odd field, and as kubectl would have applied it."""
    new = copy.deepcopy(obj)
    at, (*steps, last) = new, question["place"]
    for step in steps:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    if "value" in question:
        at[last] = question["value"]
    else:
        del at[last]
    own = {name: new["metadata"][name] for name in ("name", "namespace") if name in new["metadata"]}
    manifest = {name: value for name, value in new.items() if name != "status"} | {"metadata": own}
    annotations = {**(new["metadata"].get("annotations") or {}), LAST_APPLIED: json.dumps(manifest)}
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}


async def stored(client, question, suffix=""):
    """Store the object of a question as the earlier minor does, and return its title."""
    obj = question["object"]
    obj = {**obj, "metadata": {**obj["metadata"], "name": obj["metadata"]["name"] + suffix}}
    if question["verb"] == "create":
        made = await client.create(changed(obj, question))
    else:
        made = await client.update(changed(await client.create(obj), question))
    own = made["metadata"]
    return f"{made['kind']} {own['namespace'] + '/' if own.get('namespace') else ''}{own['name']}"


@contextlib.asynccontextmanager
async def cluster(minor, file):
    options = Options(kubernetes_version=minor, controllers=False, modules="none", data=file)
    async with APIServer(options) as server:
        await server.client.create(NAMESPACE)
        yield server.client


async def named(file, old, new):
    snapshot = await sources.snapshots.load(file)
    report = await upgrades.rehearse(snapshot, RehearsalOptions(source=old, target=new))
    return {each.object for each in report.statements if each.code in ERRORS}


@pytest.mark.parametrize(("old", "new"), PAIRS)
async def test_every_field_that_only_the_earlier_minor_accepts_is_named(old, new, tmp_path):
    asked = {
        number: question
        for number, question in questions(old, new)
        if _name(question) not in NOT_IN_DATA
    }
    assert asked
    titles, file = {}, tmp_path / "all.db"
    async with cluster(old, file) as client:
        for number, question in asked.items():
            if question["object"]["kind"] not in ALONE:
                with contextlib.suppress(StatusError):  # it cannot be stored beside the others
                    titles[number] = await stored(client, question, f"-{number}")
    found = await named(file, old, new)
    missing = []
    for number in [each for each in asked if titles.get(each) not in found]:
        file = tmp_path / f"{number}.db"
        async with cluster(old, file) as client:
            title = await stored(client, asked[number])
        if title not in await named(file, old, new):
            missing.append((title, asked[number]["place"], asked[number].get("value")))
    assert missing == []
