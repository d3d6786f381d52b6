"""Exploration: run a controller under faults, crashes and races, and compare where it ends.

`scenarios` reads what to do: the controller, its objects, the steps of a user. `exploring` runs the
scenario twice without a disturbance, which shows what the controller writes (`observations`) and
where it ends (`states`). `planning` derives plans from that: one disturbance each (`plans`).
`runs` runs each plan on a new server. `judges` compares the end of a run with the undisturbed one,
and `reports` describes what differs. `controllers` starts and kills controllers. Controllers of the
server itself, such as kinds declared in Python, are run by `inprocess`, with the plans of
`momentplans`. Test suites are run once for each plan by `suites`. `stepping` is common to these
three, and `runners` chooses among them.

The method is that of Sieve (OSDI 2022) and Acto (SOSP 2023), without changes to the controller.
Input: a scenario. Output: findings. The command `inkube explore` and `inkube.testing` call it.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
