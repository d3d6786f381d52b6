from inkube.apiserver.registry import scales as scales
from inkube.apiserver.registry import scaling as scaling
