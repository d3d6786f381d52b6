"""Jobs: pods that run until they complete (`controller`), completion indexes (`indexes`), policies
for failures and success (`policies`), deletion of finished Jobs (`expiry`). CronJobs are in
`workloads.cronjobs`."""
