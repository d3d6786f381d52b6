"""Requests to a server with provisioning, for the tests of the rows of docs/documents.md."""

import json

from worlds import PROVISIONING, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns/repositories"
MERGE = {"Content-Type": "application/merge-patch+json"}
GONE = {"branch": "gone"}
URL = {"url": "https://github.com/grafana/grafana"}


class Requests:
    """The responses so far: their codes and texts."""

    def __init__(self, server, folder=None):
        self.server = server
        self.folder = folder
        self.codes = []
        self.text = ""

    async def __call__(self, method, path, body=None, **headers):
        options = {"json": body} if body is not None else {}
        url = self.server.api.url + path
        async with self.server._session.request(method, url, headers=headers, **options) as answer:
            text, code = await answer.text(), answer.status
            self.codes.append(code)
            self.text += text.replace('\\"', '"') + str(answer.headers.getall("Warning", []))
            return json.loads(text) if text.startswith("{") else {}

    async def post(self, obj, query="", path=ALL):
        return await self("POST", path + query, obj)

    async def reported(self, obj, path=ALL):
        """Create an object, and return the errors that its controller found."""
        await self.post(obj, path=path)
        await self.server.settled()
        kind = path.rpartition("/")[2]
        stored = await self.server.get(kind, obj["metadata"]["name"])
        assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
        self.text += json.dumps(stored["status"]["fieldErrors"])
        return stored


def spec_of(**spec):
    return {"metadata": {"name": "a"}, "spec": {**repository()["spec"], **spec}}


def token(value):
    return {"token": {"create": value}}
