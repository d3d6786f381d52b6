"""The kind CustomResourceDefinition: defaulting, validation, acceptance, and what it defines."""

from inkube.schemas.crds.acceptance import next_status
from inkube.schemas.crds.decoding import decode
from inkube.schemas.crds.definition import to_definition
from inkube.schemas.crds.formats import warnings
from inkube.schemas.crds.strategy import (
    FINALIZER,
    default,
    finish_delete,
    note_deletion_progress,
    prepare_create,
    prepare_delete,
    prepare_status_update,
    prepare_update,
)
from inkube.schemas.crds.validation import (
    validate_create,
    validate_status_update,
    validate_update,
)

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
