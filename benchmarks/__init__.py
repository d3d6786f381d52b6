"""What inkube costs, beside something known in the same run; `make bench` prints the table."""
