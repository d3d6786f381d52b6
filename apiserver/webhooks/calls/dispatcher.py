"""Calls of admission webhooks: their order, and the effects of their responses.

Mutating webhooks run one after the other, sorted by the name of the configuration; those with a
reinvocation policy run again if a later webhook changed the object. Validating webhooks run at the
same time. Follows plugin/webhook/{mutating,validating}/dispatcher.go.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from inkube.apiserver import auth
from inkube.apiserver.auth import Authorizer
from inkube.apiserver.registry import Write, intake
from inkube.apiserver.samples import Samples
from inkube.apiserver.webhooks.calls.caller import WebhookCaller
from inkube.apiserver.webhooks.calls.views import HookAdmission
from inkube.schemas import bodies, status
from inkube.schemas import patch as patches
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import (
    Hook,
    InvalidAnswerError,
    Rejection,
    ReplyError,
    RequestView,
    ReviewResponse,
    review,
)
from inkube.storage import BaseStore

logger = logging.getLogger(__name__)
_CALLS = "apiserver_admission_webhook_request_total"
_DURATIONS = "apiserver_admission_webhook_admission_duration_seconds"
_IGNORED_FAILURES = "apiserver_admission_webhook_fail_open_count"
_REJECTIONS = "apiserver_admission_webhook_rejection_count"
_MAX_CODE = 600
"""The highest code in metrics; higher ones are counted as this one."""
_ANNOTATIONS = "webhook.admission.k8s.io/"


class CallFailed(Exception):
    """The call of a webhook failed. The failurePolicy decides whether the write fails too."""


class Dispatcher:
    """Calls the active webhooks for one write."""

    def __init__(
        self,
        store: BaseStore,
        caller: WebhookCaller,
        *,
        authorizer: Authorizer,
        uid: Callable[[], str],
        samples: Samples | None = None,
    ) -> None:
        """`samples` receives the durations of calls."""
        self._store = store
        self._caller = caller
        self._authorizer = authorizer
        self._uid = uid
        self._samples = samples or Samples()

    def hooks(self, specs: Iterable[tuple[str, Object]]) -> list[Hook]:
        """Read the webhooks of configurations, each with the name of its configuration, once for
        all writes."""
        return [Hook(spec, configuration) for configuration, spec in specs]

    async def mutate(
        self, hooks: list[Hook], write: Write, users: "auth.webhookusers.Users | None" = None
    ) -> None:
        """Call mutating webhooks, which change the object in place, as one of the users. Raises
        StatusError."""
        asking = self._admission(write, users)
        invoked = write.rounds_of("MutatingAdmissionWebhook")
        invoked.start_round(write.object)
        changed = False
        for index, hook in enumerate(hooks):
            seen = await asking.concerns(hook)
            if seen is None or not invoked.needs_call(hook):
                continue
            place = f"round_{invoked.number}_index_{index}"
            with _waiting(write, "mutating-webhook"):
                is_changed = await self._call_mutating(hook, asking, seen, place)
            if is_changed:
                changed = True
                invoked.mark_changed()
            if hook.reinvoked:
                invoked.mark_called(hook)
        if changed and write.object is not None:
            _check_identity(write)
        invoked.end(write.object)

    async def validate(
        self, hooks: list[Hook], write: Write, users: "auth.webhookusers.Users | None" = None
    ) -> None:
        """Call validating webhooks at the same time, each as one of the users.

        Raises the error of the first webhook in the order of the configurations that rejects.
        """
        asking = self._admission(write, users)
        concerned = [
            (hook, seen) for hook in hooks if (seen := await asking.concerns(hook)) is not None
        ]
        with _waiting(write, "validating-webhook"):
            outcomes = await asyncio.gather(
                *(
                    self._call_validating(hook, asking, seen, f"round_0_index_{index}")
                    for index, (hook, seen) in enumerate(concerned)
                ),
                return_exceptions=True,
            )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _call_mutating(
        self, hook: Hook, admission: HookAdmission, view: RequestView, place: str
    ) -> bool:
        """Call a mutating webhook, apply its patch, and return whether the object changed. `place`
        is its round and index, for annotations of audit events."""
        notes, source = admission.write.notes, _source(hook)
        changed = False
        try:
            answer = await self._call_hook(hook, admission, view, is_mutating=True)
            operations = _operations(hook, answer, view)
            if operations and view.object is not None:
                patched = _apply_patch(view.object, operations)
                changed = await admission.change(view, patched)
                patch = {**source, "patch": operations, "patchType": "JSONPatch"}
                notes.annotate(f"patch.{_ANNOTATIONS}{place}", orjson.dumps(patch).decode())
        except CallFailed as error:
            if not hook.ignores_failures:
                raise _failure(hook, error) from error
            notes.annotate(f"failed-open.mutation.{_ANNOTATIONS}{place}", hook.name)
        finally:
            told = {**source, "mutated": changed}
            notes.annotate(f"mutation.{_ANNOTATIONS}{place}", orjson.dumps(told).decode())
        return changed

    async def _call_validating(
        self, hook: Hook, admission: HookAdmission, view: RequestView, place: str
    ) -> None:
        try:
            await self._call_hook(hook, admission, view, is_mutating=False)
        except CallFailed as error:
            if not hook.ignores_failures:
                raise _failure(hook, error) from error
            key = f"failed-open.validating.{_ANNOTATIONS}{place}"
            admission.write.notes.annotate(key, hook.name)

    def _admission(self, write: Write, users: "auth.webhookusers.Users | None") -> HookAdmission:
        return HookAdmission(write, self._store, self._authorizer, users)

    async def _call_hook(
        self, hook: Hook, admission: HookAdmission, view: RequestView, *, is_mutating: bool
    ) -> ReviewResponse:
        """Call one webhook as `_call`, and record the call
        (plugin/webhook/{mutating,validating}/dispatcher.go)."""
        kind = hook.name, "admit" if is_mutating else "validate"
        told = *kind, admission.facts.operation
        begun, code, rejected = time.perf_counter(), 200, False
        try:
            return await self._call(hook, admission, view, is_mutating=is_mutating)
        except Rejection as error:
            code, rejected = min(error.code, _MAX_CODE), True
            self._samples.add(_REJECTIONS, *told, "no_error", str(code))
            raise
        except CallFailed:
            code, rejected = 0, not hook.ignores_failures
            if rejected:
                self._samples.add(_REJECTIONS, *told, "calling_webhook_error", "0")
            else:
                self._samples.add(_IGNORED_FAILURES, *kind)
            raise
        finally:
            is_rejected = str(rejected).lower()
            self._samples.add(_CALLS, *told, str(code), is_rejected)
            self._samples.observe(time.perf_counter() - begun, _DURATIONS, *told, is_rejected)

    async def _call(
        self, hook: Hook, admission: HookAdmission, view: RequestView, *, is_mutating: bool
    ) -> ReviewResponse:
        """Call one webhook and return its response, with warnings and annotations added to the
        request.

        Raises CallFailed if the call fails, Rejection if the response does not allow the request,
        and StatusError 400 if a dry run meets a webhook that does not support dry runs.
        """
        if admission.facts.dry_run and not hook.dry_runs:
            raise status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        uid, version = self._uid(), hook.review_version
        body = review.build(admission.facts, view, uid=uid, version=version)
        seconds = min(hook.seconds, admission.request.remaining)
        try:
            document = await self._caller.post(
                hook.client, body, version=version, seconds=seconds, users=admission.users
            )
            answer = review.read(document, uid=uid, version=version, is_mutating=is_mutating)
        except ReplyError as error:
            raise CallFailed(f"failed to call webhook: {error}") from error
        except InvalidAnswerError as error:
            raise CallFailed(str(error)) from error
        for warning in answer.warnings:
            admission.write.warn(warning)
        for key, value in answer.annotations.items():
            if names.label_key(f"{hook.name}/{key}"):
                logger.warning("webhook %s: invalid key of an annotation: %s", hook.name, key)
            else:
                admission.write.notes.annotate(f"{hook.name}/{key}", value)
        if not answer.allowed:
            raise Rejection(hook.name, answer.result)
        return answer


@contextlib.contextmanager
def _waiting(write: Write, part: str) -> Iterator[None]:
    """Add the duration of a block to the time in which the request waited."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        if write.request.lifetime is not None:
            write.request.lifetime.wait(part, time.perf_counter() - begun)


def _source(hook: Hook) -> Object:
    """Return a webhook as annotations of audit events name it."""
    return {"configuration": hook.configuration, "webhook": hook.name}


def _operations(hook: Hook, response: ReviewResponse, view: RequestView) -> list[Any]:
    """Return the operations of the JSON patch in the response of a mutating webhook.

    Raises CallFailed for an invalid patch, and StatusError 500 for a patch without an object, as in
    a deletion.
    """
    if not response.patch:
        return []
    try:
        operations = review.operations(response.patch)
    except InvalidAnswerError as error:
        raise CallFailed(str(error)) from error
    if operations and view.object is None:
        raise status.internal_error(
            f'admission webhook "{hook.name}" attempted to modify the object, which is '
            "not supported for this operation"
        )
    if operations and response.patch_type != "JSONPatch":
        raise CallFailed(f'unsupported patch type "{response.patch_type}"')
    return operations


def _apply_patch(obj: Object, operations: list[Any]) -> Object:
    """Return the object with the JSON patch applied. Raises StatusError 500 if a patch does not
    apply.
    """
    try:
        patched, _ = patches.apply_json_patch(obj, operations)
    except patches.JSONPatchFailure as error:
        raise status.internal_error(error.bare_message) from error
    except status.StatusError as error:
        raise status.internal_error(error.message) from error
    if not isinstance(patched, dict):
        raise status.internal_error(
            f"couldn't get version/kind; json parse error: {bodies.type_meta_problem(patched)}"
        )
    return patched


def _check_identity(write: Write) -> None:
    """Check that a webhook changed neither the namespace nor the kind of the object."""
    assert write.object is not None, "asked by the caller"
    intake.check_namespace(write.request, write.object)
    request = write.request
    request.resource.wording.check_admitted_type(request.served, write.object)


def _failure(hook: Hook, error: CallFailed) -> status.StatusError:
    return status.internal_error(f'failed calling webhook "{hook.name}": {error}')
