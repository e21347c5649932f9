"""Which files of the package a command runs through, and how many functions: `python
tests/tools/way.py COMMAND...`.

The command runs in this process under a profile, in all of its threads. A file is on the way if one
of its functions is called; comprehensions and lambdas are no functions of their own. `claim` counts what is called while the claims are read from a reply and
checked, and while the verdict is made of them. What runs in a sandbox is not seen.

    python tests/tools/way.py --task Darcy --model tape --sandbox bubblewrap --out /tmp/way
"""

import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = Path(__file__).resolve().parents[2] / "autoreproduce"
# file and function between whose call and return a claim is dealt with
OF_A_CLAIM = {("method/claims.py", "freeze_claims"), ("evaluation/verdict.py", "judge_trial")}


class Way:
    """The code objects that were called, and those called within `OF_A_CLAIM`."""

    def __init__(self) -> None:
        self.trial: set[CodeType] = set()
        self.claim: set[CodeType] = set()
        self._roots: dict[CodeType, bool] = {}
        self._inside: dict[int, int] = defaultdict(int)  # by thread
        self._ended = False

    def end(self) -> None:
        """Threads that outlive the command keep their profile; nothing of theirs is added now."""
        self._ended = True

    def profile(self, frame: FrameType, event: str, _arg: object) -> None:
        """What `sys.setprofile` calls."""
        if self._ended or event not in ("call", "return"):
            return
        code, thread = frame.f_code, threading.get_ident()
        if self._is_root(code):
            self._inside[thread] += 1 if event == "call" else -1
        if event == "call":
            self.trial.add(code)
            if self._inside[thread]:
                self.claim.add(code)

    def _is_root(self, code: CodeType) -> bool:
        if code not in self._roots:
            self._roots[code] = any(
                code.co_name == name and code.co_filename.endswith(f"/{file}")
                for file, name in OF_A_CLAIM
            )
        return self._roots[code]


def files(codes: set[CodeType]) -> list[str]:
    """The files of the package in which these functions are; a module's own body is no call."""
    paths = {Path(code.co_filename) for code in codes.copy() if code.co_name != "<module>"}
    return sorted(str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE))


def functions(codes: set[CodeType]) -> int:
    """How many named functions of the package these are."""
    return sum(
        not code.co_name.startswith("<") and Path(code.co_filename).is_relative_to(PACKAGE)
        for code in codes.copy()
    )


def walked(arguments: list[str]) -> Way:
    """The way of one command, whose exit code is of no interest here."""
    from autoreproduce.__main__ import main

    way = Way()
    sys.argv = ["autoreproduce", *arguments]
    threading.setprofile(way.profile)
    sys.setprofile(way.profile)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        way.end()
    return way


if __name__ == "__main__":
    found = walked(sys.argv[1:])
    for title, codes in (("the command", found.trial), ("a claim", found.claim)):
        print(f"on the way of {title}: {len(files(codes))} files, {functions(codes)} functions")
        print("  " + " ".join(files(codes)))
