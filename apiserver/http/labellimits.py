"""Limits on the values of labels of metrics, when they are shown.

Follows component-base/metrics/opts.go, ConstrainToAllowedList, which replaces values when they are
recorded: series whose other values are replaced are one series, with the sum of their numbers.
Loaded at the first request for `/metrics`.
"""

from collections.abc import Collection, Iterable, Mapping

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

UNEXPECTED = "unexpected"
_BOUND = "le"  # of the buckets of a histogram; not a label that a recorder gives


def limit(families: Iterable[Metric], allowed: Mapping[str, str]) -> float:
    """Replace the values of labels that are not allowed, and return how many recorded values were
    affected. `allowed` contains values with commas between them, by `METRIC,LABEL`."""
    limits: dict[str, dict[str, Collection[str]]] = {}
    for key, values in allowed.items():
        metric, _, label = key.partition(",")
        if label != _BOUND:
            limits.setdefault(metric, {})[label] = frozenset(values.split(","))
    return sum(_limit(each, limits[name]) for each in families if (name := name_of(each)) in limits)


def name_of(family: Metric) -> str:
    """Return the full name, of which the library of the format removes the end of counters."""
    return f"{family.name}_total" if family.type == "counter" else family.name


def _limit(family: Metric, allowed: Mapping[str, Collection[str]]) -> float:
    total = 0.0
    merged: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
    for sample in family.samples:
        found = [
            name
            for name in allowed.keys() & sample.labels
            if sample.labels[name] not in allowed[name]
        ]
        labels = {**sample.labels, **dict.fromkeys(found, UNEXPECTED)}
        key = sample.name, frozenset(labels.items())
        known = merged.get(key)
        number = sample.value + (0 if known is None else known.value)
        merged[key] = sample._replace(labels=labels, value=number)
        total += len(found) * _recorded(family, sample)
    family.samples = list(merged.values())
    return total


def _recorded(family: Metric, sample: Sample) -> float:
    """Return how many recorded values a sample stands for, each counted once in a histogram."""
    if family.type == "histogram":
        return sample.value if sample.name.endswith("_count") else 0
    return sample.value if family.type == "counter" else 1
