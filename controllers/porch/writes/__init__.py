"""The writes of package revisions: rules that ask, git and the commit, one revision at a time.

In comes a write on its way to the store (`transactions`), which goes on, with what git made of it,
or is refused; what was pushed is taken back where the store fails. The kinds of `porch` call
`engine`.
"""
