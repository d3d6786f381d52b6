"""Servers are killed, stopped and disconnected under load, and every response to clients stays
true.

`make rounds` does the same for any length of time.
"""

import os
from pathlib import Path

import faults
import fleets
import postgresql
import pytest
import served

ROUNDS = int(os.environ.get("INKUBE_ROUNDS", "60" if served.LONG else "3"))


@pytest.mark.parametrize("name", fleets.SET_UPS)
async def test_every_confirmed_write_survives_every_failure(name: str, tmp_path: Path):
    if fleets.SET_UPS[name].on_postgresql and postgresql.missing():
        pytest.skip(postgresql.missing())
    async with fleets.running(fleets.SET_UPS[name], tmp_path, seed=1) as fleet:
        campaign = faults.Campaign(fleet, seed=1)
        await campaign.begin()
        causes = campaign.breaker.names
        for number in range(ROUNDS):
            assert await campaign.play(causes[number % len(causes)]) == []
        assert campaign.counts["acknowledged writes"] > ROUNDS
        print(name, campaign.breaker.kills, "processes killed", dict(campaign.counts))
