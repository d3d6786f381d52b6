from inkube.apiserver.validate.judging import policytests as policytests
from inkube.apiserver.validate.judging.admission import findings as findings
