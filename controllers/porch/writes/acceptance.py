"""Checks the files that result from a write: a well-formed package that renders."""

from collections.abc import Container, Iterable

from inkube.controllers.porch import refusals
from inkube.controllers.porch.files import packages, render
from inkube.controllers.porch.files.documents import Files, Unreadable
from inkube.controllers.porch.files.render import RenderResult
from inkube.controllers.porch.git.depots import Depots
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.refusals import Refusals
from inkube.formats import fielderrors
from inkube.kinds import StatusError

_RENDER_FAILED = "error rendering package in kpt function pipeline. "
_NOT_PUSHED = (
    f"{_RENDER_FAILED}Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) "
    "and retry. Details: "
)
_PUSHED_ANYWAY = f"{_RENDER_FAILED}Package pushed to remote despite render failure. Details: "


class Acceptance:
    """Renders the files that result from a write, and rejects invalid ones."""

    def __init__(self, options: Options, depots: Depots, refusals: Refusals) -> None:
        self._depots, self._refusals = depots, refusals
        self._skips_unknown = options.porch_functions == "skip"

    async def render(self, name: str, files: Files) -> RenderResult:
        """Render the files of a PackageRevision, which come from git. Raises StatusError 422."""
        done = await self.try_render(name, files, stored=files)
        if done.error:
            raise self.failure(name, done.error)
        return done

    async def try_render(
        self,
        name: str,
        files: Files,
        kind: str = refusals.KIND,
        *,
        stored: Container[str] = (),
        hidden: Iterable[str] = (),
    ) -> RenderResult:
        """Render well-formed files. The result can contain the error of a function. Raises
        StatusError 422 for files that are not a package; for `stored` and `hidden`, see
        `packages.wrong_with`."""
        errors = [
            fielderrors.invalid(f"spec.resources[{file}]", file, why)
            for file, why in packages.wrong_with(files, stored, hidden)
        ]
        if errors:
            raise self._refusals.invalid(name, *errors, kind=kind)
        try:
            return await self._depots.work(
                lambda: render.render(files, skip_unknown=self._skips_unknown)
            )
        except Unreadable as error:
            wrong = fielderrors.invalid("spec.resources", "", str(error))
            raise self._refusals.invalid(name, wrong, kind=kind) from error

    def failure(
        self, name: str, error: str, kind: str = refusals.KIND, *, pushed: bool = False
    ) -> StatusError:
        """422: a function failed. `pushed`: the files were saved anyway."""
        field = "spec" if kind == refusals.KIND else "spec.resources"
        text = (_PUSHED_ANYWAY if pushed else _NOT_PUSHED) + error
        wrong = fielderrors.FieldError(fielderrors.Type.INVALID, field, detail=text)
        return self._refusals.invalid(name, wrong, kind=kind)
