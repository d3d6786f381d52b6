"""What CEL talks about: types, declared shapes of values, functions' signatures, environments.

No expression is read or run here. In come schemas and library tables, out come the declarations
that the checker, the cost estimate and the compiler all look things up in.
"""
