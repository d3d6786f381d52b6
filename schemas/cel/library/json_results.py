"""The result of an expression as JSON: the conversions of cel-go to structpb.Value.

Timestamps, durations and bytes become strings (common/types `ConvertToNative`), and so do integers
that a double cannot hold.
"""

import base64
import math
from typing import Any, Final

from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.declarations.values import Duration, Optional, Timestamp, type_of
from inkube.schemas.cel.library.conversions import duration_to_string, timestamp_to_string

_SAFE: Final = 2**53 - 1
"""The greatest integer that remains a number (`Int.isJSONSafe`)."""


def as_json(value: Any) -> Any:
    """Return the value as plain JSON. Raises EvalError for a value that JSON cannot express."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() and abs(value) <= _SAFE else value
        case list() | tuple():
            return [as_json(item) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: as_json(item) for key, item in value.items()}
        case Timestamp():
            return timestamp_to_string(value)
        case Duration():
            return duration_to_string(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Optional(present=True):
            return as_json(value.value)
    raise EvalError(f"a value of type {type_of(value).name} could not be converted to JSON")
