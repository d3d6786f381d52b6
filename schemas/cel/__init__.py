"""The Common Expression Language as Kubernetes speaks it: `cel.compile(text).evaluate({…})`.

Values are plain JSON values of Python (and the classes of `values` for what JSON lacks). Nothing
here does I/O or keeps state; a `Program` may be run from many threads.

    program = cel.compile("self.replicas <= 5", {"self": types.map_of(types.STRING, types.DYN)})
    program.evaluate({"self": {"replicas": 3}})

Errors: CompileError (its text is cel-go's), ProgramError, EvalError and CostExceededError, all of
them CelErrors.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
