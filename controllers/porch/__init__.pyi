from inkube.controllers.porch.module import Porch as Porch
from inkube.controllers.porch.options import Options as Options
