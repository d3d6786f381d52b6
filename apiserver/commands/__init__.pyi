from inkube.apiserver.commands import exporting as exporting
from inkube.apiserver.commands import problems as problems
