"""A kind with its behavior, which the composition root adds to registry, admission and manager.

docs/kinds.md and docs/stateful-kinds.md describe the parts of a kind.
"""

import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from inkube.controllers.checks import (
    Check,
    CheckReconciler,
    CheckSet,
    Problem,
    Report,
    Rule,
    Unique,
    forget_changed,
    value_of,
)
from inkube.controllers.client import Object, get_or_none
from inkube.controllers.endpoints import Endpoint, Subresource
from inkube.controllers.environment import Environment, Service
from inkube.controllers.finalizers import Finalizers
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.controllers.secure import SecretStore, SecureValues
from inkube.controllers.transactions import Part, Transaction, View
from inkube.controllers.work import Work
from inkube.schemas import crds, definitions, models, status
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import SECURE, FieldError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.status import StatusError
from inkube.schemas.strategy import Reservation, Strategy

logger = logging.getLogger(__name__)
R = TypeVar("R", bound=models.Resource)

Reconciler = Callable[[Any, Environment], Awaitable[Result | None]]
"""`async def reconcile(obj, env)`: called with the typed object after each possible change."""
Guard = Callable[[Any, Environment], AsyncIterable[Problem]]
"""`async def guard(obj, env)`: yields reasons against the deletion or creation of the object."""


@dataclass(frozen=True)
class KindModule(Generic[R]):
    """One kind: its model and its behavior.

        KindModule(Probe, checks=[answers])

    A write passes through these steps in this order: mutators, validation by the model's schema,
    validators, checks (only in a dry run), storage of secret values (never in a dry run), the
    transaction, the store. `creation_guards` also run on a create, `deletion_guards` on a
    deletion. Reconciler, finalizers, work and `extra_controllers` run in the background.
    """

    model: type[R]
    """The class with the kind's group, version and fields."""
    _: KW_ONLY
    mutators: Sequence[Rule[R]] = ()
    """Functions of `@mutator`, which change an object before it is validated."""
    validators: Sequence[Rule[R]] = ()
    """Functions of `@validator`: the static rules, which run on every write."""
    checks: Sequence[Check[R]] = ()
    """Functions of `@check`: the live checks, which call other systems."""
    unique: Sequence[str] = ()
    """Fields whose values only one object of a namespace can have, such as `spec.topic`. The older
    object keeps a value; the others have a FieldValueDuplicate."""
    creation_guards: Sequence[Guard] = ()
    """Functions that can refuse a create, in a dry run and in a real write."""
    deletion_guards: Sequence[Guard] = ()
    """Functions that can refuse a deletion, in a dry run and in a real write."""
    reconciler: Reconciler | None = None
    """A function that runs after an object has changed, with the newest state of the object."""
    secure: SecureValues | None = None
    """The store of secret values, for a model with a field `secure`; by default, one of the
    server."""
    report: Report = field(default_factory=Report)
    """How the status shows the results of the checks."""
    reports_checks: bool = True
    """Whether a controller writes the results of the checks to the status. If false, the reconciler
    of the kind does so."""
    watches: Callable[[Environment], Sequence[Watch]] = lambda env: ()
    """Other objects whose changes run the checks of an object again."""
    extra_controllers: Callable[[Environment], Sequence[Controller]] = lambda env: ()
    """Controllers in addition to those that this class makes."""
    works_alone: bool = False
    """Whether its controllers also run in a server without the controllers of
    kube-controller-manager, because they are part of an API server."""
    create_on_update: bool = False
    """Whether a PUT with an unknown name creates the object."""
    unconditional_update: bool = False
    """Whether a PUT can omit the resourceVersion. The last write wins. Not for /status."""
    make_name: Callable[[Object], str] | None = None
    """The prefix of the generated name of an object that has neither name nor generateName."""
    subresources: Sequence[Subresource] = ()
    """Subresources that return something other than the object."""
    compute_name: Callable[[Object], str] | None = None
    """A function that computes the name of an object from the rest of the object."""
    parts: Sequence[Part] = ()
    """Further paths of updates. A part with the name "" has rules for the path of the object."""
    transaction: Transaction | None = None
    """A context manager around each write, from the last check to the commit."""
    view: View | None = None
    """A view of another kind's objects. A kind with a view stores no objects."""
    max_body: int = 0
    """The largest body, in bytes; 0 is the limit of the server."""
    versionless: Callable[[str], StatusError] | None = None
    """The error for a PUT without resourceVersion, by the name of the object."""
    stale: Callable[[str], StatusError] | None = None
    """The error for a write of an older resourceVersion, by the name of the object."""
    malformed: Callable[[str, list[FieldError]], StatusError] | None = None
    """The error for a body that does not fit the model, by name and field errors; default 422."""
    returns_deleted: bool = False
    """Whether DELETE returns the object instead of a Status."""
    endpoints: Sequence[Endpoint] = ()
    """Paths in the kind's group and in a namespace that are not resources."""
    finalizers: Finalizers | None = None
    """Steps to take before an object is removed."""
    work: Work | None = None
    """How to run an object that is a job."""
    needs: Sequence[Service[Any]] = ()
    """The services that the code of the kind uses, besides those of parameters of its checks."""

    def __post_init__(self) -> None:
        """Raise ValueError for a status that the controller of the checks could not write."""
        if (self.checks or self.unique) and self.reports_checks:
            models.with_empty_errors(self.model.definition)

    @property
    def has_secrets(self) -> bool:
        """Whether clients send secret values."""
        return SECURE in self.model.model_fields

    def served_with(self, store: SecretStore, environment: Environment) -> "KindModule[R]":
        """Return the kind on a server: a model with secret values gets a store for them. Raises
        TypeError if the kind or a check needs a service that the server does not have."""
        services = environment.services
        needed = [each.name for each in self.needs if each.name not in services]
        if missing := [*needed, *self.check_set.missing_services(services)]:
            raise TypeError(
                f"checks of {self.model.__name__} need services that the server does not have: "
                f"{', '.join(missing)}; pass them as APIServer(services={{…}})"
            )
        if self.secure is not None or not self.has_secrets:
            return self
        gvr = self.model.gvr
        secure = SecureValues(f"{gvr.resource}.{gvr.group}", store, environment.clock)
        return replace(self, secure=secure)

    @cached_property
    def definition(self) -> Definition:
        """The definition, which the registry serves."""
        declared, own = self.model.definition, tuple(self._own_subresources())
        if self.check_set.checks and self.reports_checks:
            declared = models.with_empty_errors(declared)
        flags = {each.name for each in fields(declared)} & {each.name for each in fields(self)}
        return replace(
            declared,
            versions=tuple(
                replace(each, subresources=each.subresources + own) for each in declared.versions
            ),
            defers_ownership=all(part.name for part in self.parts),
            has_secrets=self.has_secrets,
            **{name: getattr(self, name) for name in flags},
        )

    def _own_subresources(self) -> Iterator[definitions.Subresource]:
        for each in self.subresources:
            yield definitions.Subresource(
                each.name, each.kind, verbs=each.verbs, is_open=each.is_open,
                deprecated=each.deprecated,
            )  # fmt: skip
        for part in self.parts:
            if part.name:
                yield definitions.Subresource(part.name, verbs=part.verbs)

    def strategy(self) -> Strategy:
        """Return the strategy, which decides about objects."""
        return crds.CustomStrategy(
            self.validate,
            prefix_of=self.make_name,
            name_of=self.compute_name,
            parts={part.name: part for part in self.parts},
            finalizers=frozenset() if self.finalizers is None else self.finalizers.names,
            forget=forget_changed if self.check_set.checks else None,
        )

    @cached_property
    def check_set(self) -> CheckSet[R]:
        """The live checks."""
        rules = [each.check for each in self._unique]
        return CheckSet(self.model, (*self.checks, *rules), self.secure)

    @cached_property
    def _unique(self) -> list[Unique[R]]:
        return [Unique(self.model, field) for field in self.unique]

    def mutate(self, obj: Object, old: Object | None) -> Object:
        """Bring an incoming object into its normal form, in place; `old` is None on create.

        An object that does not fit its model is left to schema validation. Secure values leave
        the object here, also if it is invalid.
        """
        if self.has_secrets:
            if self.secure is None:
                raise RuntimeError(
                    f"{self.model.__name__} has secret values, but no store for them"
                )
            self.secure.take(obj, old)
        if self.finalizers is not None:
            self.finalizers.add_defaults(obj)
        try:
            typed, before = models.parse(self.model, obj), self._parse_old(old)
        except models.Unreadable:
            return obj
        dumped = models.dump(typed)
        for rule in self.mutators:
            try:
                rule.function(typed, before)
            except Exception as error:
                raise broken(rule.name, error) from error
        _merge_changes(obj, dumped, models.dump(typed))
        return obj

    def validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Return the static rules, on every write; an object that is being deleted passes.

        If some members cannot be read, the rules about other members still run.
        """
        if obj["metadata"].get("deletionTimestamp"):
            return []
        typed, errors = models.parse_partly(self.model, obj)
        before = None if old is None else models.parse_partly(self.model, old)[0]
        if self.secure is not None:
            errors += self.secure.unknown(obj)
        for rule in self.validators:
            errors += _violations(rule, typed, before, obj)
        return errors

    async def check(
        self, obj: Object, old: Object | None, env: Environment, wrong: Sequence[str] = ()
    ) -> list[FieldError]:
        """Run the live checks, for a dry run of create or update. Skips checks that depend on
        members that static rules refused: `wrong` contains their paths."""
        if obj["metadata"].get("deletionTimestamp"):
            return []
        try:
            return await self.check_set.run(obj, env, old=old, is_dry=True, invalid_paths=wrong)
        except models.Unreadable as error:
            return error.errors

    async def check_create(self, obj: Object, env: Environment) -> list[FieldError]:
        """Return the reasons against the creation of the object. Called for every create and dry
        run."""
        try:
            typed = models.parse(self.model, obj)
        except models.Unreadable as error:
            return error.errors
        return [
            problem.at("spec", value_of(problem, obj, "spec"), _name_of(guard))
            for guard in self.creation_guards
            for problem in await _reasons(guard, typed, env)
        ]

    async def check_delete(self, obj: Object, env: Environment) -> list[FieldError]:
        """Return the reasons against the deletion of the object. Called for every DELETE and dry
        run."""
        try:
            typed = models.parse(self.model, obj)
        except models.Unreadable:
            return []
        return [
            problem.at("metadata.name", obj["metadata"]["name"], _name_of(guard))
            for guard in self.deletion_guards
            for problem in await _reasons(guard, typed, env)
        ]

    async def persist(self, obj: Object, reservation: Reservation) -> None:
        """Store the secure values that `mutate` took. If the write is refused later, they are
        removed. Called after all other checks have accepted the write, never in a dry run."""
        if self.secure is not None:
            await self.secure.persist(obj, reservation)

    def controllers(self, env: Environment) -> list[Controller]:
        """Return the controllers of this kind."""
        found: list[Controller] = []
        if self.check_set.checks and self.reports_checks:
            reconciler = CheckReconciler(self.check_set, self.validate, env, report=self.report)
            own = (*self._secret_watches(env), *(each.watch(env) for each in self._unique))
            found.append(reconciler.controller((*self.watches(env), *own)))
        if self.reconciler is not None:
            found.append(self._own_controller(env))
        if self.secure is not None:
            found.append(self.secure.controller(self.model, env))
        if self.finalizers is not None:
            found.append(self.finalizers.controller(self.model, env))
        if self.work is not None:
            found.append(self.work.controller(self.model, env))
        return [*found, *self.extra_controllers(env)]

    def _secret_watches(self, env: Environment) -> Sequence[Watch]:
        """Watch the core/v1 Secrets that objects name, because checks read their values."""
        if not self.has_secrets:
            return ()
        index = env.informers.of(self.model.gvr).index(_secret_names)

        def keys(change: Change) -> Iterable[Key]:
            return index.keys(_place(change.object, change.object["metadata"]["name"]))

        return (Watch("v1/secrets", keys),)

    def _own_controller(self, env: Environment) -> Controller:
        reconciler, gvr = self.reconciler, self.model.gvr
        assert reconciler is not None

        async def reconcile(key: Key) -> Result | None:
            obj = await get_or_none(env.client, gvr, key.name, key.namespace)
            return None if obj is None else await reconciler(models.parse(self.model, obj), env)

        return Controller(f"{gvr.resource}.{gvr.group}", reconcile, (Watch(gvr),))

    def _parse_old(self, old: Object | None) -> R | None:
        return models.parse(self.model, old) if old is not None else None


def _violations(rule: Rule[R], typed: R, old: R | None, obj: Object) -> Iterator[FieldError]:
    """Yield the errors that a rule finds in an object, some of whose members may be unreadable."""
    try:
        field = rule.field_of(typed)
        for problem in rule.findings(typed, old):
            yield problem.at(field, value_of(problem, obj, field), rule.name)
    except models.Unread:
        return  # the rule depends on a wrong member, which has its own error
    except Exception as error:
        raise broken(rule.name, error) from error


async def _reasons(guard: Guard, typed: Any, env: Environment) -> list[Problem]:
    """Return the problems that a guard yields. Raises StatusError 500 if the guard breaks."""
    try:
        return [problem async for problem in guard(typed, env)]
    except Exception as error:
        if env.outages.includes(error):
            raise
        raise broken(_name_of(guard), error) from error


def broken(name: str, error: Exception) -> Exception:
    """Return the 500 for a rule or mutator that raised an exception: it names the rule."""
    if isinstance(error, StatusError):
        return error
    text = f"the rule {name} broke, see the server's log: {type(error).__name__}"
    logger.error("the rule %s broke", name, exc_info=error)
    return status.internal(text)


def _secret_names(obj: Object) -> list[str]:
    """Return the places of the Secrets that an object may name."""
    values = (obj.get(SECURE) or {}).values()
    return [_place(obj, value["name"]) for value in values if value.get("name")]


def _place(obj: Object, name: str) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{name}"


def _name_of(guard: Guard) -> str:
    """Return the origin of a field error, for errors of a guard."""
    return str(getattr(guard, "__name__", ""))


def _merge_changes(target: Object, original: Object, changed: Object) -> None:
    """Copy only the changes of mutators to the object. Members that the model does not have stay.
    Values of another type also stay: the model converted them, and the schema refuses them."""
    for name in original.keys() - changed.keys():
        target.pop(name, None)
    for name, value in changed.items():
        old = original.get(name)
        if name in original and (old == value or type(target.get(name)) is not type(old)):
            continue
        if isinstance(value, dict) and isinstance(old, dict) and isinstance(target.get(name), dict):
            _merge_changes(target[name], old, value)
        else:
            target[name] = value
