"""What packages import on first use is there when it is used."""

import pytest

from inkube.schemas import crds
from inkube.schemas.builtin import behaviours, columns, resources


@pytest.mark.parametrize("package", [crds, columns], ids=lambda package: package.__name__)
def test_everything_a_package_offers_can_be_imported(package):
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_a_name_a_package_does_not_offer_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"schemas\.crds' has no attribute 'nothing'"):
        _ = crds.nothing


@pytest.mark.parametrize("resource", resources.read(), ids=lambda r: f"{r.plural}.{r.group}")
def test_every_built_in_kind_has_its_behaviour(resource):
    assert isinstance(behaviours.of(resource.group, resource.plural), behaviours.Behaviour)
