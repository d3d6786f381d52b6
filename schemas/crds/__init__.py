"""The kind CustomResourceDefinition: defaulting, validation, acceptance, and what it defines.

In comes a body or a stored definition; out come the decoded one, field errors, a status, and the
`definitions.Definition` by which the registry serves the new kind. Its strategy calls what is
listed here, and so does `schemas.offline`.
"""

from typing import TYPE_CHECKING

from inkube.schemas import lazy

if TYPE_CHECKING:
    from inkube.schemas.crds.acceptance import next_status as next_status
    from inkube.schemas.crds.decoding import decode as decode
    from inkube.schemas.crds.definition import to_definition as to_definition
    from inkube.schemas.crds.formatwarnings import warnings as warnings
    from inkube.schemas.crds.strategy import FINALIZER as FINALIZER
    from inkube.schemas.crds.strategy import default as default
    from inkube.schemas.crds.strategy import finish_delete as finish_delete
    from inkube.schemas.crds.strategy import note_deletion_progress as note_deletion_progress
    from inkube.schemas.crds.strategy import prepare_create as prepare_create
    from inkube.schemas.crds.strategy import prepare_delete as prepare_delete
    from inkube.schemas.crds.strategy import prepare_status_update as prepare_status_update
    from inkube.schemas.crds.strategy import prepare_update as prepare_update
    from inkube.schemas.crds.validation import validate_create as validate_create
    from inkube.schemas.crds.validation import validate_status_update as validate_status_update
    from inkube.schemas.crds.validation import validate_update as validate_update

__all__ = [
    "FINALIZER",
    "decode",
    "default",
    "finish_delete",
    "next_status",
    "note_deletion_progress",
    "prepare_create",
    "prepare_delete",
    "prepare_status_update",
    "prepare_update",
    "to_definition",
    "validate_create",
    "validate_status_update",
    "validate_update",
    "warnings",
]

_HOMES = {
    "FINALIZER": "strategy",
    "decode": "decoding",
    "default": "strategy",
    "finish_delete": "strategy",
    "next_status": "acceptance",
    "note_deletion_progress": "strategy",
    "prepare_create": "strategy",
    "prepare_delete": "strategy",
    "prepare_status_update": "strategy",
    "prepare_update": "strategy",
    "to_definition": "definition",
    "validate_create": "validation",
    "validate_status_update": "validation",
    "validate_update": "validation",
    "warnings": "formatwarnings",
}
__getattr__ = lazy.exports(__name__, _HOMES)
