"""The append-only log, its single writer and the watch cache; knows bytes and revisions only."""
