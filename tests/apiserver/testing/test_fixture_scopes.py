"""Servers per class, module and namespace; several in one test; seeds, forks, unittest."""

pytest_plugins = ["pytester"]

SCOPES = """
import urllib.request

pytestmark = pytest.mark.kube_definitions(config_map("of-the-module"))

class TestTogether:
    def test_one(self, kube_class):
        kube_class.client.create(config_map("a"))

    def test_two(self, kube_class, kube_module):
        assert kube_class.client.get(CM, "a")
        assert kube_class.client.get(CM, "of-the-module")
        assert len(kube_module.client.list(CM)) == 1

def test_alone(kube_module, kube_factory):
    one, two = kube_factory(), kube_factory(modules="none")
    one.client.create(config_map("only-here"))
    assert two.client.list(CM) == []
    assert len({one.url, two.url, kube_module.url}) == 3

@pytest.mark.parametrize("turn", range(2))
def test_a_namespace_of_its_own(kube_namespace, turn):
    kube_namespace.client.create(config_map("a"))
    [found] = kube_namespace.client.list(CM)
    assert found["metadata"]["namespace"] == kube_namespace.name
    assert kube_namespace.client.get(CM, "a")
    assert f"namespace: {kube_namespace.name}" in kube_namespace.kubeconfig()

seeded = []

def fill(kube):
    seeded.append(kube)
    kube.client.create(config_map("seed"))

@pytest.mark.kube_seed(fill=fill)
class TestForks:
    @pytest.mark.parametrize("turn", range(3))
    def test_each_begins_with_the_seed_alone(self, kube, turn):
        assert len(seeded) == 1
        assert {each["metadata"]["name"] for each in kube.client.list(CM)} == {
            "seed", "of-the-module"}
        kube.client.create(config_map("mine"))
        kube.client.delete(CM, "seed")

filled = []

def fill_once(kube):
    filled.append(kube)
    kube.client.create(config_map("once"))

@pytest.mark.kube_seed(fill=fill_once)
@pytest.mark.parametrize("case", (
    1, 2, pytest.param(3, marks=pytest.mark.kube_definitions(config_map("of-the-case")))))
def test_the_cases_of_a_test_share_a_seed(kube, case):
    assert len(filled) == (2 if case == 3 else 1)  # another marker is another seed
    assert len(kube.client.list(CM)) == (3 if case == 3 else 2)
    kube.client.delete(CM, "once")

@pytest.mark.kube_seed(fill=fill)
@pytest.mark.kube_storage("sqlite")
def test_seeds_are_for_memory(kube):
    pass

def test_snapshots_go_to_other_servers(kube, kube_factory, tmp_path):
    import asyncio
    kube.advance(3600)
    kube.client.create(config_map("a"))
    taken = kube.snapshot()
    kube.client.create(config_map("b"))
    fork = kube_factory(snapshot=taken)
    assert {each["metadata"]["name"] for each in fork.client.list(CM)} == {"a", "of-the-module"}
    assert fork.clock.now() >= taken.taken
    fork.client.create(config_map("c"))
    assert {each["metadata"]["name"] for each in kube.client.list(CM)} == {
        "a", "b", "of-the-module"}
    asyncio.run(taken.save(tmp_path / "state.db"))
    assert kube_factory(snapshot=tmp_path / "state.db").client.get(CM, "a")
"""

CASES = """
import unittest
from inkube.testing import KubeTestCase

CM = "v1/configmaps"

class TestIt(KubeTestCase):
    kube_options = {"modules": "none"}

    @classmethod
    def populate(cls, kube):
        kube.client.create(body("seed"))

    def test_one(self):
        self.client.create(body("a"))
        self.assertEqual(len(self.client.list(CM)), 2)

    def test_two(self):
        self.assertEqual(len(self.client.list(CM)), 1)

def body(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}

if __name__ == "__main__":
    unittest.main()
"""


def test_servers_of_every_scope(run):
    result = run(SCOPES)
    result.assert_outcomes(passed=12, errors=1)
    result.stdout.fnmatch_lines(
        ["kube_seed(*): use it with servers in memory, without kube_storage"]
    )


def test_unittest_needs_no_pytest(pytester, monkeypatch):
    import subprocess
    import sys
    from pathlib import Path

    import inkube

    monkeypatch.setenv("PYTHONPATH", str(Path(inkube.__path__[0]).absolute().parent), prepend=":")
    script = pytester.makepyfile(CASES)
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr
    assert done.stderr.endswith("OK\n")
