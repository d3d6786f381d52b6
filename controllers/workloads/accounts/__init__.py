"""What every namespace is given, and the Secrets that hold tokens of ServiceAccounts."""
