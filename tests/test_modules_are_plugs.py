"""The modules of inkube know only its public modules and the doors of each other."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLUGS = {"faults", "porch", "provisioning", "workloads", "world"}


def test_the_contract_names_every_other_room_of_controllers() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [contract] = [each for each in linter["contracts"] if "plugs" in each["name"]]
    rooms = {
        path.stem
        for path in (ROOT / "controllers").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    forbidden = {f"inkube.controllers.{room}" for room in rooms - PLUGS - {"__init__"}}
    assert forbidden | {"inkube.apiserver", "inkube.schemas", "inkube.storage"} == set(
        contract["forbidden_modules"]
    )
    assert {f"inkube.controllers.{room}" for room in PLUGS} == set(contract["source_modules"])
