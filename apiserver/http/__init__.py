"""Bytes to values and back: requests, bodies, options, negotiation, responses, guards, metrics.

Nothing here knows kinds, the store or the registry's pipeline. `app` and the verbs call it.
"""
