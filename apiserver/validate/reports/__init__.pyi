from inkube.apiserver.validate.reports.formats import FORMATS as FORMATS
from inkube.apiserver.validate.reports.formats import Style as Style
from inkube.apiserver.validate.reports.formats import render as render
from inkube.apiserver.validate.reports.summary import counts as counts
from inkube.apiserver.validate.reports.summary import table as table
