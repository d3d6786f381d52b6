"""Reconcile loops. Input: changes of objects. Output: writes that bring the state in line with the
objects.

They depend only on the `Client` protocol (`client`) and the clock. Only the modules that compose
servers (`apiserver.server`, `apiserver.root`, `apiserver.testing`) call them: they create a
`Manager`, an `Environment` and the families of kinds, and give them a client.

client, clock       the inputs of controllers: the API, and time
informer            a cache for each resource that follows its changes, with indexes
workqueue, pacer    the order and times of keys; the order of coroutines on the event loop
outages             log times in which the store cannot be used
manager             runs controllers: receives a key, returns a `Result`, retries failures
events, eventnames  record Events, and name them
environment         combines all of these, for checks and reconcilers
transactions        code of a kind between the last check of a write and its commit
records, locks      writes of several objects in one commit; locks by key within the process
kinds, secure       a kind declared in Python with its behavior; its secret values
endpoints           subresources and endpoints of such a kind that do not return the object
finalizers, work    steps before the removal of an object; objects that are jobs
core, checks, provisioning    the families; each `__init__` describes one
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
