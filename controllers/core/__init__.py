"""The controllers every server runs: CRDs, namespaces, garbage, quotas, aggregation, expiry.

Each `add`s itself to a manager with what it works on; the composition root calls it.
"""
