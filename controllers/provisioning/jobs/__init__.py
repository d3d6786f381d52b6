"""Job and HistoricJob: work on the files of a repository, and its results.

Input: a JobSpec from a client (`requests`, `rules`) or from a schedule (`sync`). `job` runs the
matching function of `actions` and keeps the outcome. `repository` and events from providers request
jobs.
"""
