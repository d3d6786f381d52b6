"""The cipher of stored secret values: Fernet, which also detects changed values."""

from cryptography.fernet import Fernet

__all__ = ["Fernet"]
