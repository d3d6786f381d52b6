"""The names of controllers are known before their modules are loaded."""

import subprocess
import sys

from patience import SECONDS

from inkube.controllers.workloads import CONTROLLERS, installation


def test_every_name_starts_a_controller_in_the_order_of_names() -> None:
    assert tuple(installation.STARTS) == CONTROLLERS


def test_every_name_leads_to_a_function() -> None:
    assert all(callable(installation.start_of(name)) for name in installation.STARTS)


def test_what_starts_a_controller_is_loaded_with_it() -> None:
    program = (
        "import sys\n"
        "from inkube.controllers.workloads import installation\n"
        "installation.start_of('deployment-controller')\n"
        "print(*sys.modules, sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    loaded = set(done.stdout.split())
    assert "inkube.controllers.workloads.deployments" in loaded
    assert "inkube.controllers.workloads.scheduler" not in loaded
    assert "inkube.controllers.workloads.kubelet.kubelets" not in loaded
