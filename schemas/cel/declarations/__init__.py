"""Declarations of CEL: types, shapes of values, functions' signatures, environments.

This room does not parse or run expressions. Inputs: schemas and library tables. Outputs: the
declarations that the checker, the cost estimator and the compiler use.
"""
