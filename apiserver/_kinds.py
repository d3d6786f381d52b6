"""Kinds declared in Python: models, rules, live checks, controllers, and more.

    from inkube import APIServer
    from inkube.kinds import Invalid, KindModule, Model, Resource, check

    class DoorSpec(Model):
        name: str

    class Door(Resource, group="example.com", version="v1"):
        spec: DoorSpec

    @check(Door, field="spec.name")
    async def is_known(door):
        if door.spec.name != "front":
            yield Invalid("there is no such door")

    server = APIServer(kinds=[KindModule(Door, checks=[is_known])])

A `KindModule` joins a model with what the kind does. It may have

    rules          `mutator`, `validator`: on every write, without asking anything outside
    live checks    `check`: ask the outside world, in dry runs and again after the write
    controllers    a reconciler, `Watch`es, whole `Controller`s; `Work` for objects that are jobs
    finalizers     `Finalizers`: what is done before an object may go
    addresses      `Subresource`, `Endpoint`, `Part`
    transactions   `Transaction`: what happens around each write; `View` for two faces of one object
    secrets        `SecureValues`: values that are kept apart from the object

A package publishes kinds as a `Module`, with an entry point in the group `inkube.modules`. `inkube
serve --modules NAME` then serves its kinds.

Functions get an `Environment` with a client, clock, caches and services. To reject a request, raise
a `StatusError`; `status` has a constructor for each reason.

The guide is docs/kinds.md, a first kind docs/howto/kinds.md. Names are loaded when they are first
used.
"""

from inkube.schemas import lazy

__getattr__, __dir__ = lazy.public(__name__)
