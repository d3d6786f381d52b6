"""A module for inkube: plants, and a check that asks the thermometer of their greenhouse."""

from collections.abc import AsyncIterator, Sequence

from pydantic import Field

from inkube.kinds import (
    Invalid,
    KindModule,
    Model,
    ModuleHost,
    ModuleOption,
    ModuleParts,
    Problem,
    Resource,
    check,
)


class PlantSpec(Model):
    species: str
    coldest: float = Field(default=5.0, description="Degrees that the plant still bears.")


class Plant(Resource, group="greenhouse.example", version="v1"):
    spec: PlantSpec


class Thermometer:
    """A service: checks ask for it by the name of a parameter."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    async def read(self) -> float:
        return self.degrees


@check(Plant, field="spec.coldest")
async def is_warm_enough(plant: Plant, thermometer: Thermometer) -> AsyncIterator[Problem]:
    degrees = await thermometer.read()
    if degrees < plant.spec.coldest:
        yield Invalid(f"the greenhouse has only {degrees:g} degrees")


class Greenhouse:
    """The module. `inkube.kinds.Module` says what each member means."""

    groups: Sequence[str] = ("greenhouse.example",)
    needs: Sequence[str] = ()
    options: Sequence[ModuleOption] = (
        ModuleOption("greenhouse_degrees", 18.0, "Degrees that the thermometer shows."),
    )

    def build(self, host: ModuleHost) -> ModuleParts:
        return ModuleParts(
            kinds=[KindModule(Plant, checks=[is_warm_enough])],
            services={"thermometer": Thermometer(host.settings["greenhouse_degrees"])},
        )
