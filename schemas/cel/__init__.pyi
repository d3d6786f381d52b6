from inkube.schemas.cel.declarations.functions import CelError as CelError
from inkube.schemas.cel.declarations.functions import CostExceededError as CostExceededError
from inkube.schemas.cel.declarations.functions import EvalError as EvalError
from inkube.schemas.cel.language.source import CompileError as CompileError
from inkube.schemas.cel.language.source import Issue as Issue
from inkube.schemas.cel.rules.evaluation import RuleSet as RuleSet
from inkube.schemas.cel.running.expressions import compile as compile  # noqa: A004 # cel.compile
from inkube.schemas.cel.running.program import CALL_LIMIT as CALL_LIMIT
from inkube.schemas.cel.running.program import Program as Program
from inkube.schemas.cel.running.program import ProgramError as ProgramError
