"""`python -m autoreproduce` and the `autoreproduce` command."""


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and its exit code."""
    import sys

    from autoreproduce.cli.app import app
    from autoreproduce.errors import AutoReproduceError
    from autoreproduce.runner.signals import interrupting

    try:
        with interrupting():
            app()
    except AutoReproduceError as error:
        from autoreproduce.evaluation.report.wording import clean

        print(f"autoreproduce: {clean(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
