"""Derives plans from the space of objects. Their law: the end depends only on the last spec.

A user gets to the objects of a step by another way: from another value, over one and back, or by
deletion and new creation. Or the user changes them, which has to end as creating them like that.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from inkube.apiserver.explore import actions
from inkube.apiserver.explore.actions import Action
from inkube.apiserver.explore.plans import Plan, in_turns
from inkube.apiserver.explore.space import Changed

WALKS = 4
"""Random sequences of changes for each step that applies objects."""
LONGEST_WALK = 5
Space = Mapping[int, Sequence[Sequence[Changed]]]
"""Step → for each of its objects, the changes of it."""


def plans(steps: Sequence[Action], space: Space, seed: int | None) -> list[Plan]:
    """Return the plans of all steps, those that find most first. The seed selects the walks."""
    return in_turns(_of_step(steps, index, space[index], seed) for index in sorted(space))


def _of_step(
    steps: Sequence[Action], index: int, changed: Sequence[Sequence[Changed]], seed: int | None
) -> Iterator[Plan]:
    before, step = tuple(steps[:index]), steps[index]
    gone = _deleted(step)

    def plan(name: str, *instead: Action, same_as: tuple[Action, ...] = ()) -> Plan:
        return Plan(name, "objects", index, steps=(*before, *instead), same_as=same_as)

    yield plan(f"{step.text}, {gone.text}, and {step.text} again", step, gone, step)
    others = list(_others(step, changed))
    for title, other in others:
        yield plan(f"{step.text}, change {title}, and back", step, other, step)
        name = f"{step.text}, change {title}"
        yield plan(name, step, other, same_as=(*before, other))
        yield plan(f"{other.text}, then back", other, step)
        yield plan(f"{step.text}, change {title}, and back at once", step,
                   actions.together(other, step))  # fmt: skip
    for number in range(WALKS if others else 0):
        chance = random.Random(f"{seed or 0} {index} {number}")  # noqa: S311 # to be the same again
        walk = tuple(_walk(chance, step, gone, [other for _, other in others]))
        yield plan(f"walk {number + 1} to {step.text}", *walk)


def _deleted(step: Action) -> Action:
    parts = [actions.deletion(obj) for obj in reversed(step.objects)]
    return parts[0] if len(parts) == 1 else actions.together(*parts)


def _others(step: Action, changed: Sequence[Sequence[Changed]]) -> Iterator[tuple[str, Action]]:
    """Yield the step with one changed object, and what is changed. Objects take turns."""
    by_object = [[(place, each) for each in found] for place, found in enumerate(changed)]
    for row in itertools.zip_longest(*by_object):
        for place, each in filter(None, row):
            objects = [*step.objects[:place], each.object, *step.objects[place + 1 :]]
            name = actions.name_of(each.object)
            title = f"{name} {each.title}" if len(step.objects) > 1 else each.title
            yield title, actions.of_objects(objects, title)


def _walk(
    chance: random.Random, step: Action, gone: Action, others: Sequence[Action]
) -> Iterator[Action]:
    """Yield actions that end with the step. A deletion comes only after a creation."""
    exists = False
    for _ in range(chance.randint(2, LONGEST_WALK)):
        if exists and chance.random() < 0.25:
            exists = False
            yield gone
            continue
        one = chance.choice(others)
        exists = True
        if chance.random() < 0.25:
            yield actions.together(one, chance.choice(others))
        else:
            yield one
    yield step
