"""One stage, read from a `Stage` object: its selector, its delay and its steps.

Follows KWOK's pkg/apis/v1alpha1/stage_types.go and pkg/utils/lifecycle. A write of an unsupported
stage fails (`check`, a 422), so that a stage does not fail for this reason while it plays.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from inkube.client import Object
from inkube.controllers.workloads.stages import expressions, gotemplates
from inkube.controllers.workloads.stages.expressions import ExpressionError, Outputs
from inkube.controllers.workloads.stages.gotemplates import (
    Function,
    RunError,
    Template,
    TemplateError,
)
from inkube.formats import DecodeError, bodies, fielderrors, gotime, rfc3339
from inkube.kinds import FieldError

Renderer = Callable[[Object], Any]
"""A function from an object to the content of a patch. Raises gotemplates.RunError."""
Chance = Callable[[], random.Random]
"""A function that returns the random numbers for an object. Few objects need some."""
PatchType = Literal["json", "merge", "strategic", "apply"]
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
PATCHES = ("json", "merge", "strategic")
_STRATEGIC = frozenset({("v1", "Pod"), ("v1", "Node")})


class Requirement(NamedTuple):
    """One requirement of `matchExpressions`, about all outputs of its query."""

    outputs: Outputs
    operator: str
    values: frozenset[str]

    def matches(self, obj: Object) -> bool:
        """Return whether the object meets the requirement."""
        found = [output for output in self.outputs(obj) if output is not None]
        if self.operator == "Exists":
            return bool(found)
        if self.operator == "DoesNotExist":
            return not found
        among = any(_text(output) in self.values for output in found)
        return among is (self.operator == "In")


class ExpressionRequirement(NamedTuple):
    """A CEL expression that must be true."""

    outputs: Outputs

    def matches(self, obj: Object) -> bool:
        """Return whether the expression is true for the object."""
        return self.outputs(obj) == [True]


class StageSelector(Protocol):
    """The selector of a stage."""

    def matches(self, obj: Object) -> bool:
        """Return whether the object is selected."""
        ...


class Selector(NamedTuple):
    """Labels, annotations and requirements; a selected object matches all of them."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: tuple[Requirement | ExpressionRequirement, ...] = ()

    def matches(self, obj: Object) -> bool:
        """Return whether the object is selected."""
        meta = obj["metadata"]
        return (
            _has_all(meta.get("labels"), self.labels)
            and _has_all(meta.get("annotations"), self.annotations)
            and all(requirement.matches(obj) for requirement in self.requirements)
        )


class Source(NamedTuple):
    """A number of a stage, and an expression about the object whose first usable output replaces
    it."""

    number: float | None
    outputs: Outputs | None = None


class Delay(NamedTuple):
    """The delay between the choice and the start of a stage, in seconds."""

    duration: Source = Source(0.0)
    jitter: Source = Source(None)

    def seconds(self, obj: Object, now: datetime, chance: Chance) -> float:
        """Return a uniform random number between duration and jitter; the jitter if
        it is smaller."""
        shortest = _seconds(self.duration, obj, now) or 0.0
        longest = _seconds(self.jitter, obj, now)
        if longest is None:
            return max(shortest, 0.0)
        if longest <= shortest:
            return max(longest, 0.0)
        return max(chance().uniform(shortest, longest), 0.0)


class Event(NamedTuple):
    """An event about the object."""

    type: str
    reason: str
    message: str


class Finalizers(NamedTuple):
    """A change of the object's finalizers. `empty` removes all before it adds some."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    empty: bool = False


class Delete(NamedTuple):
    """The deletion of the object, without a grace period."""


def _compile_template(template: Template) -> Renderer:
    """Return a renderer that decodes the text of a template as YAML."""

    def render(obj: Object) -> Any:
        text = template.render(obj)
        try:
            return bodies.decode(text.encode(), "yaml", want_duplicates=False).value
        except DecodeError as error:
            raise RunError(f"the output of the template is not valid YAML: {error.text}") from error

    return render


class Patch(NamedTuple):
    """A patch of the object; `root` is the member that contains the result of the template."""

    render: Renderer
    subresource: str = ""
    root: str = ""
    type: PatchType = "merge"


class Apply(NamedTuple):
    """An apply or a patch of another object."""

    render: Renderer
    subresource: str = ""
    type: Literal["apply", "merge", "strategic"] = "apply"


Step = Event | Finalizers | Delete | Patch | Apply


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A stage, ready to play."""

    name: str
    api_version: str
    kind: str
    selector: StageSelector | None
    weight: int = 0
    weight_from: Outputs | None = None
    delay: Delay = field(default_factory=Delay)
    steps: tuple[Step, ...] = ()
    is_immediate: bool = False
    spec: Object = field(default_factory=dict)

    def weight_of(self, obj: Object) -> int | None:
        """Return the weight of the stage for an object, or None if the stage cannot be chosen."""
        if self.weight_from is None:
            return self.weight
        for output in self.weight_from(obj):
            try:
                return max(int(_text(output)), 0)
            except ValueError:
                return None
        return None


def choose_stage(stages: Sequence[Stage], obj: Object, chance: Chance) -> Stage | None:
    """Choose one of the stages that select the object, at random by weight, or evenly if all
    weights are 0. Returns None if no stage selects it."""
    weighed = [
        (stage, weight)
        for stage in stages
        if stage.selector is not None and stage.selector.matches(obj)
        if (weight := stage.weight_of(obj)) is not None
    ]
    if len(weighed) <= 1:
        return weighed[0][0] if weighed else None
    total = sum(weight for _, weight in weighed)
    if total == 0:
        return weighed[chance().randrange(len(weighed))][0]
    left = chance().randrange(total)
    for stage, weight in weighed:
        left -= weight
        if left < 0:
            return stage
    raise AssertionError("the weights sum up to the total")


def read(obj: Object, functions: Mapping[str, Function]) -> Stage:
    """Return the stage that an object defines. Raises ValueError with all errors that `check`
    finds."""
    reader = _Reader(functions)
    stage = reader.stage(obj)
    if reader.errors:
        raise ValueError("; ".join(error.text() for error in reader.errors))
    return stage


def check(obj: Object, functions: Mapping[str, Function]) -> list[FieldError]:
    """Return the errors of an object that defines a stage."""
    reader = _Reader(functions)
    reader.stage(obj)
    return reader.errors


def with_native(stage: Stage, select: StageSelector, status: Renderer | None) -> Stage:
    """Return a copy of the stage with functions in place of its expressions and templates (see
    `native`)."""
    steps = stage.steps
    if status is not None:
        steps = tuple(
            step._replace(render=status) if isinstance(step, Patch) else step for step in steps
        )
    return replace(stage, selector=select, steps=steps)


class _Reader:
    """Reads one object and collects its errors."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.errors: list[FieldError] = []
        self._functions = functions

    def stage(self, obj: Object) -> Stage:
        spec = obj.get("spec") or {}
        reference = spec.get("resourceRef") or {}
        if not reference.get("kind"):
            self.errors.append(fielderrors.required("spec.resourceRef.kind"))
        about = reference.get("apiGroup") or "v1", reference.get("kind", "")
        if spec.get("next") is not None and spec.get("steps") is not None:
            self.errors.append(
                fielderrors.invalid("spec.steps", fielderrors.OMITTED, "may not stand beside next")
            )
        steps = [*self._next(spec.get("next") or {}, about), *self._steps(spec, about)]
        return Stage(
            obj["metadata"].get("name", ""),
            *about,
            self._selector(spec.get("selector")),
            spec.get("weight") or 0,
            self._expression(spec.get("weightFrom"), "spec.weightFrom"),
            self._delay(spec.get("delay") or {}),
            tuple(steps),
            bool(spec.get("immediateNextStage")),
            spec,
        )

    def _selector(self, selector: Object | None) -> Selector | None:
        if selector is None:
            return None
        requirements = [
            self._requirement(one, f"spec.selector.matchExpressions[{number}]")
            for number, one in enumerate(selector.get("matchExpressions") or ())
        ]
        return Selector(
            selector.get("matchLabels") or {},
            selector.get("matchAnnotations") or {},
            tuple(one for one in requirements if one is not None),
        )

    def _requirement(self, term: Object, path: str) -> Requirement | ExpressionRequirement | None:
        if term.get("cel") is not None:
            outputs = self._cel(term["cel"].get("expression") or "", f"{path}.cel.expression")
            return ExpressionRequirement(outputs) if outputs is not None else None
        if term.get("jq") is not None:
            term, path = term["jq"], f"{path}.jq"
        operator, values = term.get("operator") or "", term.get("values") or []
        if operator not in OPERATORS:
            self.errors.append(fielderrors.not_supported(f"{path}.operator", operator, OPERATORS))
        if operator in ("In", "NotIn") and not values:
            self.errors.append(fielderrors.required(f"{path}.values"))
        outputs = self._jq(term.get("key") or "", f"{path}.key")
        if outputs is None:
            return None
        return Requirement(outputs, operator, frozenset(values))

    def _jq(self, text: str, path: str) -> Outputs | None:
        if not text:
            self.errors.append(fielderrors.required(path))
            return None
        try:
            return expressions.of_jq(text)
        except ExpressionError as error:
            self.errors.append(fielderrors.invalid(path, text, str(error)))
            return None

    def _cel(self, text: str, path: str) -> Outputs | None:
        try:
            return expressions.of_cel(text)
        except ExpressionError as error:
            self.errors.append(fielderrors.invalid(path, text, str(error)))
            return None

    def _expression(self, source: Object | None, path: str) -> Outputs | None:
        if not source:
            return None
        if source.get("cel") is not None:
            return self._cel(source["cel"].get("expression") or "", f"{path}.cel.expression")
        if source.get("jq") is not None:
            return self._jq(source["jq"].get("expression") or "", f"{path}.jq.expression")
        return self._jq(source.get("expressionFrom") or "", f"{path}.expressionFrom")

    def _delay(self, delay: Object) -> Delay:
        return Delay(
            Source(
                (delay.get("durationMilliseconds") or 0) / 1000,
                self._expression(delay.get("durationFrom"), "spec.delay.durationFrom"),
            ),
            Source(
                None
                if delay.get("jitterDurationMilliseconds") is None
                else delay["jitterDurationMilliseconds"] / 1000,
                self._expression(delay.get("jitterDurationFrom"), "spec.delay.jitterDurationFrom"),
            ),
        )

    def _next(self, following: Object, about: tuple[str, str]) -> Iterator[Step]:
        """Yield the steps of the older form `next`: event, finalizers, delete, patches, in this
        order."""
        place = "spec.next"
        if following.get("event") is not None:
            yield self._event(following["event"])
        if following.get("finalizers") is not None:
            yield _finalizers(following["finalizers"])
        if following.get("delete"):
            yield Delete()
        if following.get("statusTemplate"):
            self._refuse_impersonation(following, "statusPatchAs", place)
            template = self._template(following["statusTemplate"], f"{place}.statusTemplate")
            if template is not None:
                subresource = following.get("statusSubresource", "status")
                yield Patch(template, subresource, "status", _default_type(about))
        for number, patch in enumerate(following.get("patches") or ()):
            found = self._patch(patch, f"{place}.patches[{number}]", about)
            if found is not None:
                yield found

    def _steps(self, spec: Object, about: tuple[str, str]) -> Iterator[Step]:
        for number, step in enumerate(spec.get("steps") or ()):
            found = self._step(step, f"spec.steps[{number}]", about)
            if found is not None:
                yield found

    def _step(self, step: Object, path: str, about: tuple[str, str]) -> Step | None:
        if step.get("event") is not None:
            return self._event(step["event"])
        if step.get("finalizers") is not None:
            return _finalizers(step["finalizers"])
        if step.get("delete"):
            return Delete()
        if step.get("patch") is not None:
            return self._patch(step["patch"], f"{path}.patch", about)
        if step.get("apply") is not None:
            return self._apply(step["apply"], f"{path}.apply")
        self.errors.append(
            fielderrors.required(path, "one of event, finalizers, delete, patch, apply")
        )
        return None

    def _event(self, event: Object) -> Event:
        return Event(
            event.get("type") or "Normal", event.get("reason", ""), event.get("message", "")
        )

    def _patch(self, patch: Object, path: str, about: tuple[str, str]) -> Patch | None:
        self._refuse_impersonation(patch, "impersonation", path)
        template = self._template(patch.get("template") or "", f"{path}.template")
        kind = patch.get("type") or _default_type(about)
        if kind not in PATCHES:
            self.errors.append(fielderrors.not_supported(f"{path}.type", kind, PATCHES))
            return None
        if template is None:
            return None
        return Patch(template, patch.get("subresource") or "", patch.get("root") or "", kind)

    def _apply(self, apply: Object, path: str) -> Apply | None:
        template = self._template(apply.get("template") or "", f"{path}.template")
        kind: Any = apply.get("type") or "apply"
        kinds = ("apply", "merge", "strategic")
        if kind not in kinds:
            self.errors.append(fielderrors.not_supported(f"{path}.type", kind, kinds))
            return None
        if template is None:
            return None
        return Apply(template, apply.get("subresource") or "", kind)

    def _refuse_impersonation(self, patch: Object, member: str, path: str) -> None:
        if patch.get(member):
            self.errors.append(
                FieldError(
                    fielderrors.Type.FORBIDDEN,
                    f"{path}.{member}",
                    detail="not supported: stages write as the kubelet",
                )
            )

    def _template(self, text: str, path: str) -> Renderer | None:
        try:
            return _compile_template(gotemplates.compile(text, self._functions))
        except TemplateError as error:
            self.errors.append(fielderrors.invalid(path, fielderrors.OMITTED, str(error)))
            return None


def _default_type(about: tuple[str, str]) -> PatchType:
    return "strategic" if about in _STRATEGIC else "merge"


def _finalizers(finalizers: Object) -> Finalizers:
    return Finalizers(
        tuple(one["value"] for one in finalizers.get("add") or ()),
        tuple(one["value"] for one in finalizers.get("remove") or ()),
        bool(finalizers.get("empty")),
    )


def _seconds(source: Source, obj: Object, now: datetime) -> float | None:
    """Return the first output of the expression that is a Go duration or a time, in seconds from
    now. Otherwise, return the number of the stage."""
    if source.outputs is not None:
        for output in source.outputs(obj):
            if isinstance(output, str) and (found := _period(output, now)) is not None:
                return found
    return source.number


def _period(text: str, now: datetime) -> float | None:
    try:
        return gotime.parse_duration(text) / 1e9
    except ValueError:
        pass
    try:
        moment = rfc3339.nanoseconds(text)
    except ValueError:
        return None
    return moment / 1e9 - now.timestamp()


def _has_all(labels: Mapping[str, str] | None, required: Mapping[str, str]) -> bool:
    return not required or all((labels or {}).get(key) == value for key, value in required.items())


def _text(output: Any) -> str:
    if isinstance(output, bool):
        return "true" if output else "false"
    return str(output) if isinstance(output, (str, int, float)) else ""
