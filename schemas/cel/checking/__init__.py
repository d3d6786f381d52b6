"""What an expression is before it runs: the type of every node, and how dear it may become.

In comes a tree of `language` and an environment; out comes the tree with types and overloads set, a
list of issues, or an estimate of costs. `running.program` and `rules` call it.
"""
