import pytest
from parcels import parcels


@pytest.fixture
async def api():
    async with parcels() as found:
        yield found


@pytest.fixture
async def blueprints(api):
    """A server with an empty Repository."""
    await api.host()
    await api.register()
    return api
