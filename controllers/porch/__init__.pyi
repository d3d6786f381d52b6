from inkube.controllers.porch.options import Options as Options
from inkube.controllers.porch.porch import Porch as Porch
