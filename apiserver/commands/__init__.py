"""What the command line does without a server: `inkube validate`, `inkube definitions export`."""
