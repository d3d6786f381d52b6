"""The OpenAPI document of `/inkube/v1/…`, version 3."""

from inkube.schemas.objects import Object

PATH = "inkube/v1"
"""The path of the document below `/openapi/v3`."""
_NUMBER: Object = {"type": "number", "minimum": 0}
_TEXT: Object = {"type": "string"}
_NAME: Object = {"type": "string", "minLength": 1, "maxLength": 64}
_REVISION: Object = {"type": "string", "description": "The resourceVersion that the state has now."}
_FORK: Object = {"name": _NAME, "url": _TEXT, "kubeconfig": _TEXT}


def openapi() -> Object:
    """Return a new copy of the document."""
    name = {"name": "name", "in": "path", "required": True, "schema": _NAME}
    snapshots = {"type": "array", "items": _object({"name": _NAME, "revision": _REVISION})}
    forks = {"type": "array", "items": _object({"name": _NAME, "url": _TEXT})}
    return {
        "openapi": "3.0.0",
        "info": {"title": "inkube", "version": "v1"},
        "paths": {
            "/inkube/v1": {
                "get": _operation(
                    "getControl",
                    "The time of the server, its snapshots and its forks.",
                    {"time": _TEXT, "snapshots": snapshots, "forks": forks},
                )
            },
            "/inkube/v1/settled": {
                "post": _operation(
                    "settled",
                    "Wait until every controller has seen the newest state and has nothing to do.",
                    {"revision": _REVISION},
                    {"within": {**_NUMBER, "maximum": 600, "default": 60}},
                )
            },
            "/inkube/v1/advance": {
                "post": _operation(
                    "advance",
                    "Move the clock of the server forward, and wait for what became due.",
                    {"revision": _REVISION, "time": _TEXT},
                    {"seconds": _NUMBER},
                    required=["seconds"],
                )
            },
            "/inkube/v1/reset": {
                "post": _operation(
                    "reset",
                    "Make the state of a server in memory what it was at its start.",
                    {"revision": _REVISION},
                )
            },
            "/inkube/v1/snapshot": {
                "get": _operation("listSnapshots", "All snapshots.", {"snapshots": snapshots}),
                "post": _operation(
                    "snapshot",
                    "Keep the state under a name, in memory.",
                    {"name": _NAME, "revision": _REVISION},
                    {"name": _NAME},
                    required=["name"],
                ),
            },
            "/inkube/v1/snapshot/{name}": {
                "parameters": [name],
                "get": {
                    "operationId": "readSnapshot",
                    "description": "A snapshot as a file for `inkube serve --snapshot`.",
                    "responses": {
                        "200": {
                            "description": "OK",
                            "content": {
                                "application/vnd.sqlite3": {
                                    "schema": {"type": "string", "format": "binary"}
                                }
                            },
                        }
                    },
                },
                "delete": _operation("forgetSnapshot", "Forget a snapshot.", {"name": _NAME}),
            },
            "/inkube/v1/restore": {
                "post": _operation(
                    "restore",
                    "Make the state what it was in a snapshot.",
                    {"name": _NAME, "revision": _REVISION},
                    {"name": _NAME},
                    required=["name"],
                )
            },
            "/inkube/v1/fork": {
                "get": _operation("listForks", "The forks that run.", {"forks": forks}),
                "post": _operation(
                    "fork",
                    "Start another server with the state of this one, or of a snapshot.",
                    _FORK,
                    {"name": _NAME, "snapshot": _NAME},
                    required=["name"],
                ),
            },
            "/inkube/v1/fork/{name}": {
                "parameters": [name],
                "delete": _operation("endFork", "Stop a fork.", {"name": _NAME}),
            },
        },
    }


def _object(members: Object, required: list[str] | None = None) -> Object:
    schema: Object = {"type": "object", "properties": members}
    return {**schema, "required": required} if required else schema


def _operation(
    name: str,
    description: str,
    response: Object,
    parameters: Object | None = None,
    *,
    required: list[str] | None = None,
) -> Object:
    content = {"application/json": {"schema": _object(response)}}
    made: Object = {
        "operationId": name,
        "description": description,
        "responses": {"200": {"description": "OK", "content": content}},
    }
    if parameters is not None:
        schema = _object(parameters, required)
        made["requestBody"] = {
            "required": required is not None,
            "content": {"application/json": {"schema": schema}},
        }
    return made
