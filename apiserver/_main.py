"""`inkube` and `python -m inkube`: the command line, or a message that names the libraries that are
too old for it, for example because of a constraint file of somebody's project."""

import sys

PROGRAM = "inkube"


def main() -> None:
    """Run the command line. Exits with 1 if it cannot be loaded with the installed libraries."""
    try:
        from inkube.apiserver import cli
    except (ImportError, AttributeError, TypeError):
        from inkube.schemas import outdated

        explanation = outdated.explanation()
        if not explanation:
            raise
        sys.exit(f"Error: {explanation}")
    cli.main(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
