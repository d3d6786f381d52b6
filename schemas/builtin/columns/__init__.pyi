from inkube.schemas.builtin.columns.rows import cells as cells
from inkube.schemas.builtin.columns.rows import conditions as conditions
from inkube.schemas.builtin.columns.tables import of as of
