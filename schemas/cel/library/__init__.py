"""The named functions of CEL in the reference's environment, one module per library.

`OVERLOADS` are all of them. Operators and optional values belong to the engine; there is no math,
no encoders, no cel.bind, as in the reference. Upstream: apiserver pkg/cel/environment/base.go.
"""

from typing import Final

from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.library import (
    cidr,
    conversions,
    ext_lists,
    ip,
    lists,
    named_formats,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    times,
    url,
)

OVERLOADS: Final[tuple[Overload, ...]] = (
    *standard.OVERLOADS,
    *conversions.OVERLOADS,
    *times.OVERLOADS,
    *url.OVERLOADS,
    *regex.OVERLOADS,
    *lists.OVERLOADS,
    *quantity.OVERLOADS,
    *strings.OVERLOADS,
    *sets.OVERLOADS,
    *ip.OVERLOADS,
    *cidr.OVERLOADS,
    *named_formats.OVERLOADS,
    *semver.OVERLOADS,
    *ext_lists.OVERLOADS,
)
