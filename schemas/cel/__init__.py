"""The Common Expression Language as in Kubernetes: `cel.compile(text).evaluate({…})`.

Values are plain JSON values of Python (and the classes of `values` for other types). This
room does no I/O and keeps no state. Many threads can run the same `Program`.

    program = cel.compile("self.replicas <= 5", {"self": types.map_of(types.STRING, types.DYN)})
    program.evaluate({"self": {"replicas": 3}})

Errors: CompileError (its text is cel-go's), ProgramError, EvalError and CostExceededError, all of
them are CelErrors.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
