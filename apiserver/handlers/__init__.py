"""The verbs of HTTP on resources: an `Exchange` in, a response out.

`verbs` decodes and calls the registry, `rendering` and `tables` give what comes back the form that
was asked for. `app` dispatches here; watching and subresources build on the same exchange.
"""
