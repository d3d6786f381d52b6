from inkube.schemas.builtin.columns.rows import cells as cells
from inkube.schemas.builtin.columns.rows import cells_of_minor as cells_of_minor
from inkube.schemas.builtin.columns.rows import conditions as conditions
from inkube.schemas.builtin.columns.rows import row_order as row_order
from inkube.schemas.builtin.columns.tables import of as of
