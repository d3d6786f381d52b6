"""Bounds are doubles: an integer is compared with their int64, as Go converts on amd64, and errors
write them as `%v`. The texts are those of kube-apiserver 1.36.2."""

import pytest

from inkube.schemas.structural import CompiledSchema

AT_MOST = "should be less than or equal to"
AT_LEAST = "should be greater than or equal to"


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "number", "maximum": 1e300}, 1, f"{AT_MOST} -9223372036854775808"),
        ({"type": "number", "maximum": 1e300}, 1.5, None),
        ({"type": "number", "minimum": 1e300}, 1, None),
        ({"type": "number", "minimum": 1e300}, 1.5, f"{AT_LEAST} 1e+300"),
        ({"type": "number", "minimum": 9223372036854775000}, 1, f"{AT_LEAST} 9223372036854774784"),
        ({"type": "number", "minimum": 10**18}, 1.5, f"{AT_LEAST} 1e+18"),
        ({"type": "number", "maximum": -(2.0**63)}, 1.5, f"{AT_MOST} -9.223372036854776e+18"),
    ],
)
def test_a_bound_is_a_double(schema: dict[str, object], value: float, text: str | None):
    found = [
        error.detail for error in CompiledSchema(schema, resource_root=False).schema_errors(value)
    ]
    assert found == ([] if text is None else [f" in body {text}"])
