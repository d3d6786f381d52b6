"""Exploration of controllers: crashes, faults, races and old views, in every place of a scenario.

    from inkube.explore import Command, Scenario, apply, explore

    scenario = Scenario(Command(["python", "operator.py"]), [apply("boat.yaml")])
    for finding in explore(scenario).findings:
        print(finding.plan.name, finding.text)

A scenario has a controller (`Command`, `Coroutine`), definitions, and the steps of a user: `apply`,
`patch`, `delete`, `advance`, `wait`. `explore` runs it without a disturbance, and then with one
disturbance in each run, within `Limits`. The guide is docs/howto/explore.md. Names are loaded when
they are first used.
"""

from inkube.schemas import lazy

__getattr__, __dir__ = lazy.public(__name__)
