"""The order of API versions: GA before beta before alpha, then the higher number.

Follows apimachinery/pkg/version/helpers.go (CompareKubeAwareVersionStrings).
"""

import re

_KUBE_LIKE = re.compile(r"^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$")
_STAGES = {None: 0, "beta": 1, "alpha": 2}

Preference = tuple[int, int, int, int, str]


def preference(name: str) -> Preference:
    """Return a sort key: `sorted(names, key=preference)` puts the most preferred version first.

    Names that do not look like a version come last, in alphabetical order.
    """
    match = _KUBE_LIKE.match(name)
    if match is None:
        return (1, 0, 0, 0, name)
    major, stage, minor = match.groups()
    return (0, _STAGES[stage], -int(major), -int(minor or 0), "")
