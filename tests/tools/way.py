"""Which files of the package a command runs through, and how many functions: `python
tests/tools/way.py COMMAND...`.

The command runs in this process under a profile, in all of its threads. A file is on the way if one
of its functions is called; comprehensions and lambdas are no functions of their own. Beside the
whole command it counts what `PARTS` names: of a part that is done several times, each time by
itself, and the longest way and the median are shown. What runs in a sandbox is not seen.

    python tests/tools/way.py --paper examples/private-learning/paper.md --task "Table 1" \
      --metric epsilon:lower --model tape:examples/private-learning/tape.jsonl --out /tmp/way
"""

import inspect
import statistics
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = Path(__file__).resolve().parents[2] / "autoreproduce"
# part -> the functions that it is done by, one after the other: all that is called within them
PARTS = {
    "the claims": (("method/claims.py", "freeze_claims"), ("evaluation/verdict.py", "judge_trial")),
    "one EDIT": (("agents/parsing.py", "parse"), ("method/workbench.py", "edit")),
    "one model call": (("agents/agent.py", "_fitting"),),
}


class Way:
    """The code objects that were called, and for each part those called each time it was done."""

    def __init__(self) -> None:
        self.whole: set[CodeType] = set()
        self.times: dict[str, list[set[CodeType]]] = {part: [] for part in PARTS}
        self._roots: dict[CodeType, tuple[str, int] | None] = {}
        self._within: dict[int, list[CodeType]] = defaultdict(list)  # by thread
        self._now: dict[int, set[CodeType]] = {}  # by thread: of the outermost root
        self._earlier: dict[str, set[CodeType]] = {}  # of a part: of its functions before the last
        self._ended = False

    def end(self) -> None:
        """Threads that outlive the command keep their profile; nothing of theirs is added now."""
        self._ended = True

    def profile(self, frame: FrameType, event: str, _arg: object) -> None:
        """What `sys.setprofile` calls."""
        if self._ended or event not in ("call", "return"):
            return
        code, thread = frame.f_code, threading.get_ident()
        within, root = self._within[thread], self._root(code)
        if event == "call":
            self.whole.add(code)
            if root and not within:
                self._now[thread] = set()
            if root:
                within.append(code)
            if within:
                self._now[thread].add(code)
        elif root and within and within[-1] is code:
            within.pop()
            if not within:
                self._done(*root, self._now.pop(thread))

    def _done(self, part: str, number: int, codes: set[CodeType]) -> None:
        """A part ends with its last function; what was read by those before it counts with it."""
        if number < len(PARTS[part]) - 1:
            self._earlier[part] = codes
        else:
            self.times[part].append(codes | self._earlier.get(part, set()))

    def _root(self, code: CodeType) -> tuple[str, int] | None:
        if code not in self._roots:
            self._roots[code] = next(
                (
                    (part, number)
                    for part, roots in PARTS.items()
                    for number, (file, name) in enumerate(roots)
                    if code.co_name == name and code.co_filename.endswith(f"/autoreproduce/{file}")
                ),
                None,
            )
        return self._roots[code]


def named(codes: set[CodeType]) -> list[CodeType]:
    """The package's functions that have a name: the body of a module or a class is no call."""
    return [
        code
        for code in codes.copy()
        if code.co_flags & inspect.CO_OPTIMIZED
        and not code.co_name.startswith("<")
        and Path(code.co_filename).is_relative_to(PACKAGE)
    ]


def files(codes: set[CodeType]) -> dict[str, list[str]]:
    """By file of the package the functions that were called."""
    found: dict[str, list[str]] = defaultdict(list)
    for code in named(codes):
        found[str(Path(code.co_filename).relative_to(PACKAGE))].append(code.co_qualname)
    return {name: sorted(functions) for name, functions in sorted(found.items())}


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


def told(title: str, codes: set[CodeType]) -> None:
    """Print how long a way is, and where it leads."""
    print(f"on the way of {title}: {len(files(codes))} files, {len(named(codes))} functions")
    for name, functions in files(codes).items():
        print(f"  {name}: {' '.join(functions)}")


if __name__ == "__main__":
    found = walked(sys.argv[1:])
    told("the command", found.whole)
    for part, times in found.times.items():
        if times:
            median = statistics.median(len(named(codes)) for codes in times)
            title = f"{part} ({len(times)} times, median {median:.0f} functions), the longest"
            told(title, max(times, key=lambda codes: len(named(codes))))
