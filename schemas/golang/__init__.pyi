from inkube.schemas.golang import goyaml as goyaml
