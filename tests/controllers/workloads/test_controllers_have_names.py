"""The names of controllers are known before any of them is loaded."""

from inkube.controllers.workloads import CONTROLLERS, installation


def test_every_name_starts_a_controller_in_the_order_of_names() -> None:
    assert tuple(installation.STARTS) == CONTROLLERS
