"""Objects judged by a server in this process: admission of a set, and tests of policies.

Input: files and a `Plan`. Output: findings, and outcomes of tests. Only runs that ask for it load
the server.

    clusters     a server in this process, with what decides about objects
    admission    policies, Pod Security, quotas and limit ranges of the set
    policytests  tests of policies, with the coverage of their conditions
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
