"""From text to a syntax tree, with cel-go's words for what is no expression.

In comes a text, out comes an `ast` with macros expanded or a CompileError. `checking` and `running`
take the tree from here.
"""
