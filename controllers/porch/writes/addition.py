"""Tasks that an update adds to a Draft: run in order on its files, with one commit for each task.

This module checks C1 for them (only the first revision of a package can be cloned). Other errors of
a task are the same as in a create.
"""

from dataclasses import dataclass

from inkube.client import Object
from inkube.controllers.porch import revisions, storedobjects, troubles
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git.depots import Depot, Depots
from inkube.controllers.porch.refusals import Refusals
from inkube.controllers.porch.writes.acceptance import Acceptance
from inkube.controllers.porch.writes.origin import Origin
from inkube.controllers.porch.writes.tasks import LINES, Tasks, only_new
from inkube.kinds import Environment, Write


@dataclass(frozen=True, slots=True)
class Addition:
    """Runs the added tasks; the fields are the shared parts of the server."""

    depots: Depots
    origin: Origin
    acceptance: Acceptance
    refusals: Refusals

    async def carried_out(
        self, write: Write, env: Environment, depot: Depot, files: Files, head: str
    ) -> tuple[Files, str]:
        """Run the new tasks of a Draft. Return its files and the commit of the last task. Raises
        StatusError."""
        obj, old = write.obj, write.old
        assert obj is not None, "an update has both"
        assert old is not None, "an update has both"
        spec = obj["spec"]
        for at in range(len(revisions.tasks_of(old)), len(revisions.tasks_of(obj))):
            kind = spec["tasks"][at]["type"]
            if kind == "clone":
                siblings = await storedobjects.of_package(
                    env.client, write.namespace, spec["repository"], spec["packageName"]
                )
                if len(siblings) > 1:  # C1
                    raise self.refusals.invalid(write.name, only_new(spec, at))
            task = Tasks(env.client, self.depots, self.refusals, at)
            try:
                made = await task.run(obj, depot, files)
            except troubles.REQUEST_ERRORS as error:
                raise self.origin.unreachable(write, spec["repository"], error) from error
            files = (await self.acceptance.render(write.name, made)).files
            done: Object = {**obj, "spec": {**spec, "tasks": spec["tasks"][: at + 1]}}
            head = await self.origin.save(write, depot, done, files, head, line=LINES[kind])
        return files, head
