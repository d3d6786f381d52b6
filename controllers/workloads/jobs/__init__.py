"""Jobs: pods that run to their end (`controller`), which indexes are done (`indexes`), what a
failure means (`policies`), and the end of finished Jobs (`expiry`). CronJobs are beside it."""
