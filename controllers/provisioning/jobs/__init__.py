"""Job and HistoricJob: what is done with a repository's files, and what it came to.

In comes a JobSpec, of a client (`requests`, `rules`) or of the clock (`sync`); `job` runs the
`actions` it asks for and keeps the outcome. `repository` and what providers send in ask for jobs.
"""
