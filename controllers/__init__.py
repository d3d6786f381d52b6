"""Reconcile loops. Input: changes of objects. Output: writes that bring the state in line with the
objects.

They depend only on the `Client` protocol (`client`) and the clock. Only the modules where servers
are put together (`apiserver.server`, `apiserver.root`, `apiserver.testing`) call them: they make a
`Manager`, an `Environment` and the families of kinds, and hand them a client.

client, clock       what controllers are given: the API, and time
informer            a cache per resource that follows its changes, with indexes
workqueue, pacer    which key is next, and when; whose turn it is on the event loop
manager             runs controllers: a key in, a `Result` out, failures tried again later
events              what happened, told as Events
environment         all of these in one hand, for checks and reconcilers
transactions        what a kind does between the last check of a write and its commit
records, locks      several objects written at once; what keeps writes of one thing apart
kinds, secure       a kind declared in Python with its behaviour; its secret values
endpoints           what such a kind answers beside its objects
finalizers, work    what is done before an object goes; what is done with one that is a job
core, checks, provisioning    the families; each `__init__` says what it does
"""
