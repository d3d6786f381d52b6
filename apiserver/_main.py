"""`python -m inkube`: the command line."""

from inkube.apiserver.cli import main

if __name__ == "__main__":
    main(prog_name="inkube")
