"""Static checks of an expression: the type of every node, and an estimate of the cost.

Inputs: a tree of `language` and an environment. Outputs: the tree with types and overloads, a list
of issues, or an estimate of costs. `running.program` and `rules` call this room.
"""
