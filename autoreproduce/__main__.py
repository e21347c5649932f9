"""`python -m autoreproduce` and the `autoreproduce` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and its exit code."""
    import sys

    from autoreproduce.cli import app
    from autoreproduce.errors import AutoReproduceError

    try:
        app()
    except AutoReproduceError as error:
        print(f"autoreproduce: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
