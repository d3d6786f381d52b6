"""Controllers with one planted bug each, of the kinds that Sieve and Acto have published."""

from typing import Any, NamedTuple

import camps
import gardens

from inkube.apiserver.explore import Scenario, apply, delete, patch

CREATE = apply(gardens.BOAT)
BOATS = "example.com/v1/boats"
DELETE = delete(BOATS, "anna")
CHANGE = patch(BOATS, "anna", {"spec": {"sails": 3}})


class Planted(NamedTuple):
    """A kind of bug, and a scenario with the default settings."""

    kind: str
    scenario: Scenario


def _boats(kind: str, reconcile: Any, *steps: Any) -> Planted:
    return Planted(kind, Scenario(gardens.controller(reconcile), steps, [gardens.CRD]))


def _tents(kind: str, reconcile: Any, *steps: Any) -> Planted:
    return Planted(kind, Scenario(camps.camp(reconcile, camps.MAPS, camps.SECRETS), steps))


GARDEN = (
    _boats("create not repeated after a crash", gardens.creates_once, CREATE),
    _boats("status as the only memory", gardens.remembers_in_status, CREATE),
    _boats("finalizer removed too early", gardens.removes_the_finalizer_first, CREATE, DELETE),
    _boats("deletion seen as never existed", gardens.cleans_on_event, CREATE, DELETE),
    _boats("stale list deletes the claim of a new object", gardens.collects_by_a_list, CREATE),
    _tents("lost update without resourceVersion", camps.overwrites, apply(camps.SETTINGS)),
    _boats("index by name after recreation", gardens.indexes_by_name, CREATE, DELETE, CREATE),
    _tents("hot loop on a defaulted field", camps.compares_defaults, camps.CREATE),
    _tents("scale down before drain", camps.scales_down_first, camps.CREATE, camps.FEWER),
    _boats("field applied only at creation", gardens.only_creates, CREATE, CHANGE),
    _tents("secret rotated but not reloaded", camps.never_reloads, apply(camps.KEY, camps.TENT),
           camps.ROTATE, camps.CHANGE),
    _tents("owner reference to the wrong uid", camps.remembers_the_owner, camps.CREATE),
    _tents("condition never reset", camps.never_resets, camps.CREATE),
    _boats("retries without back-off", gardens.retries_at_once, CREATE),
    _boats("work after the lease is lost", gardens.leads_for_good, CREATE, CHANGE),
)  # fmt: skip
