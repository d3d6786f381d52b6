"""Reconcile loops; they see the world through the Client protocol alone."""
