"""The writes of package revisions: rules that depend on state, changes in git, and the commit. Each
revision has one write at a time.

Input: a write before its commit (`transactions`). Output: the write with the results from git, or
an error. If the commit fails, the push is reverted. The kinds of `porch` call `engine`.
"""
