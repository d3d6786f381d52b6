from inkube.schemas.structural.compiled import CompiledSchema as CompiledSchema
