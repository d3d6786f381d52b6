"""The status of each kind that has an observed generation has that of its newest specification."""

import json

import pytest
import samples

from inkube.schemas.builtin.kinddefinitions import by_name

pytestmark = pytest.mark.kube_workloads()
CHANGES = {
    "PodDisruptionBudget": {"minAvailable": "40%"},
    "ValidatingAdmissionPolicy": {"failurePolicy": "Ignore"},
}
"""A change of the specification; of workloads, `minReadySeconds`."""
NOT_OBSERVED = ("CustomResourceDefinition", "HorizontalPodAutoscaler", "Pod")
"""The field of definitions needs a feature gate, autoscalers have no generation, and recorded
kubelets report none of a pod."""


def observing():
    """Yield (resource, sample) of the kinds with such a field."""
    for definition in by_name().values():
        version = definition.storage_version
        status = version.schema["properties"].get("status", {}).get("properties", {})
        api = f"{definition.group}/{version.name}" if definition.group else version.name
        kind = definition.names.kind
        has_sample = f"{api}/{kind}" in samples.OBJECTS and kind not in NOT_OBSERVED
        if "observedGeneration" in status and has_sample:
            text = json.dumps(samples.make(api, kind))
            # with labels of its own, so that no kind adopts the objects of another
            own = json.loads(text.replace('"app": "a"', f'"app": "{kind.lower()}"'))
            yield f"{api}/{definition.names.plural}", own


def test_every_status_has_the_generation_of_the_newest_specification(kube):
    kinds = dict(observing())
    assert len(kinds) > 6
    for obj in kinds.values():
        kube.client.create(obj)
    for round_ in range(2):
        kube.settled()
        for resource, obj in kinds.items():
            name, kind = obj["metadata"]["name"], obj["kind"]
            found = kube.client.get(resource, name, "default")
            observed = found["status"].get("observedGeneration")
            assert observed == found["metadata"]["generation"], (kind, round_)
            if not round_:
                patch = {"spec": CHANGES.get(kind, {"minReadySeconds": 1})}
                changed = kube.client.patch(resource, name, "default", patch=patch)
                assert changed["metadata"]["generation"] == observed + 1, kind
