"""Parsing of a text to a syntax tree, with the error texts of cel-go.

Input: a text. Output: an `ast` with expanded macros, or a CompileError. `checking` and `running`
use the tree. `parser` parses valid expressions. `grammar` and `syntax` only make the texts of
syntax errors, as ANTLR does. `syntax` documents why no library does this.
"""
