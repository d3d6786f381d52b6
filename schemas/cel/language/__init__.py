"""From text to a syntax tree, with cel-go's words for what is no expression.

In comes a text, out comes an `ast` with macros expanded or a CompileError. `checking` and `running`
take the tree from here. `parser` reads what is an expression; `grammar` and `syntax` only word what
is none, as ANTLR does, and say why no library does that for them.
"""
