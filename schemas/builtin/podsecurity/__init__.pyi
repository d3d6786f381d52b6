from inkube.schemas.builtin.podsecurity import checks as checks
