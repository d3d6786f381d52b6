"""`inkube` and `python -m inkube`: the command line, or a message that names the libraries that are
too old for it, for example because of a constraint file of somebody's project."""

import sys

from inkube.schemas import lazy


def main() -> None:
    """Run the command line. Exits with 1 if it cannot be loaded with the installed libraries."""
    try:
        command = lazy.named("inkube.apiserver.cli", "main")
    except (ImportError, AttributeError, TypeError):
        explanation = lazy.named("inkube.schemas.outdated", "explanation")()
        if not explanation:
            raise
        sys.exit(f"Error: {explanation}")
    command(prog_name="inkube")


if __name__ == "__main__":
    main()
