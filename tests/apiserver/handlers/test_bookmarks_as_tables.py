"""A bookmark in a watch of Tables is the row of an object that has nothing but its version."""

import asyncio
import json

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
QUERY = (
    "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&timeoutSeconds=1&labelSelector=none%3Dat-all"
)
EXPECTED = {
    "/api/v1/pods": ["", "0/0", "", "0", "<unknown>", *["<none>"] * 4],
    "/apis/apps/v1/deployments": ["", "0/0", 0, 0, "<unknown>", "", "", ""],
    "/api/v1/configmaps": ["", 0, "<unknown>"],
    "/api/v1/nodes": [
        "", "Unknown", "<none>", "<unknown>", "", "<none>", "<none>", *["<unknown>"] * 3
    ],
    "/apis/batch/v1/cronjobs": [
        "", "", "<none>", "<unset>", 0, "<none>", "<unknown>", "", "", "<none>"
    ],
    "/apis/rbac.authorization.k8s.io/v1/roles": ["", "0001-01-01T00:00:00Z"],
}  # fmt: skip


async def test_a_bookmark_is_the_row_of_an_empty_object(web):
    boats = "/apis/example.com/v1/boats"
    paths = [*EXPECTED, boats]
    answers = await asyncio.gather(
        *(web.ask("GET", f"{path}?{QUERY}", Accept=TABLE) for path in paths)
    )
    for path, answer in zip(paths, answers, strict=True):
        event = json.loads(answer.body.splitlines()[-1])
        assert event["type"] == "BOOKMARK"
        shown, [row] = event["object"], event["object"]["rows"]
        nothing = ["", *[None] * (len(shown["columnDefinitions"]) - 1)]  # of custom resources
        assert row["cells"] == EXPECTED.get(path, nothing), path
        meta = row["object"]["metadata"]
        assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert meta["resourceVersion"] == shown["metadata"]["resourceVersion"]
