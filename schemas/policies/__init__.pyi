from inkube.schemas.policies import typecheck as typecheck
