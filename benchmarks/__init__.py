"""The costs of inkube, compared with known programs in the same run. `make bench` prints the
table."""
