"""The MCP server: plan, start, follow and read reproductions from any client of the protocol.

Whatever takes longer than an answer runs as a job of its own (`runner/background.py`), which is the
normal command line: it is not lost when the client or this server ends, and starting the same again
resumes it. Whoever starts the server chooses models, sandbox and budget; a client cannot.
"""

import inspect
import json
import os
import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from autoreproduce.config import SECRETS, Settings
from autoreproduce.errors import AutoReproduceError, TrialError, UsageError
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.files.git_process import NO_CONFIGURATION, run_git
from autoreproduce.files.kinds import NOT_WRITTEN
from autoreproduce.files.shared import file_inside, inside
from autoreproduce.plugins.integrations import optional_module
from autoreproduce.runner.background import Jobs, JobState
from autoreproduce.trials.folders import refuse_links

RESULT_FIELDS = (
    "status", "reason", "metric", "recomputed", "verdict", "sentence", "warnings",
)  # fmt: skip
INSTRUCTIONS = """Reproduces experiments of machine-learning papers, and checks code against its
paper. Code that exists: audit_code says where it does something else than the paper (a minute or
two, nothing is run), verify_code runs it and holds its numbers against the paper's. Without code:
plan_paper lists a paper's experiments, start_reproduction writes a program for one. verify_code and
start_reproduction return a job at once; ask status until `running` is false (minutes to hours),
then verdict for what its number says of the paper. Only what a verdict says was reproduced was
reproduced: repeat its sentence with its remarks, and never a program's own number."""
WAIT = 50.0  # seconds that a tool waits before it answers that its job runs: clients give up at 60
SCHEME = "autoreproduce://"  # of resources
LARGEST_VERDICT = 2_000  # bytes
LATEST = ("output", "note", "step", "phase")  # events whose last one says what happens now
TELL: ContextVar[Callable[[JobState], None]] = ContextVar("TELL", default=lambda state: None)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def environment_of(settings: Settings) -> dict[str, str]:
    """The settings that were given, as the variables by which a job reads them; no secrets."""
    flat = settings.flat()
    named = settings.given() - SECRETS
    known = {name: flat[name] for name in named if flat[name] is not None}
    return {f"AUTOREPRODUCE_{name.upper()}": str(value) for name, value in known.items()}


class Tools:
    """What the server offers, as functions; each docstring is what a client reads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.runs = settings.runs_dir.resolve()
        self.here = Path.cwd()
        environment = environment_of(settings) | {"AUTOREPRODUCE_RUNS_DIR": str(self.runs)}
        self.jobs = Jobs(self.runs, environment)

    def all(self) -> list[Callable[..., Any]]:
        """Every tool."""
        lists = (self.list_tasks, self.list_trials)
        code = (self.audit_code, self.verify_code, self.score_code)
        begin = (self.plan_paper, self.start_reproduction)
        return [*lists, *begin, *code, self.status, self.stop, self.verdict, self.report]

    def list_tasks(self) -> list[dict[str, Any]]:
        """The benchmark's tasks: id, paper, experiment, metric, reference, state of the data."""
        from autoreproduce.runner.listing import task_rows

        return list(task_rows(self.settings))

    def list_trials(self) -> list[dict[str, Any]]:
        """The trials that lie in the folder of runs, with their status and verdict."""
        from autoreproduce.trials.folders import trials_below

        return [self._trial_row(folder) for folder in trials_below(self.runs)]

    def plan_paper(self, paper: str) -> dict[str, Any]:
        """List a paper's experiments: rows, what one may cost, and how to start it.

        `paper`: an arXiv id or a file. A model reads the paper once; until it has answered, `rows`
        are the tables that the text shows: call it again for the plan, which costs nothing more.
        """
        path = own_path(self.here, paper)
        started = self.jobs.start("plan", ["--json", "--", path])
        state = self._wait(started, WAIT)
        by_event = {each.get("event"): each for each in state.lines}
        if state.running:
            return planned(None, self.settings, path) | {"running": True, "job": started}
        why = f"the paper was not planned: {state.errors.rpartition('autoreproduce: ')[2]}"
        if not {"plan", "estimate"} & by_event.keys():
            raise UsageError(why)
        answer = planned(by_event.get("plan"), self.settings, path)
        return answer if "plan" in by_event else answer | {"notes": [why, *answer["notes"]]}

    def start_reproduction(
        self,
        task: str = "",
        arxiv: str = "",
        paper: str = "",
        metric: Sequence[str] = (),
        experiment: Sequence[str] = (),
        claim: Sequence[str] = (),
        data: str = "",
        instruction: str = "",
        trial: int = 1,
    ) -> dict[str, Any]:
        """Start to reproduce an experiment, or resume the same; returns at once with a job.

        A `task` of list_tasks, or a paper (`arxiv` id or `paper` file) with `task` and `metric`
        (NAME:lower or NAME:higher), or with `experiment` of its plan ("Table 2", main, all).
        `claim`: the paper's numbers, "ROW: METRIC = VALUE". `data`: a folder. `trial`: 2 and so
        on for another attempt.
        """
        named = {"paper": own_path(self.here, paper), "data": own_path(self.here, data)}
        single = {"task": task, "arxiv": arxiv, **named}
        given = {**single, "instruction": instruction, "trial": "" if trial == 1 else str(trial)}
        arguments = [f"--{name}={value}" for name, value in given.items() if value]
        for name, values in (("metric", metric), ("experiment", experiment), ("claim", claim)):
            arguments += [f"--{name}={value}" for value in values]
        if not arguments:
            raise UsageError("nothing is named to reproduce", fix="give task, arxiv or paper")
        return shown(self.jobs.wait(self.jobs.start("reproduce", [*arguments, "--json"]), 0))

    def audit_code(
        self, code: str, paper: str = "", arxiv: str = "", run: str = ""
    ) -> dict[str, Any]:
        """Where code does something else than its paper says, with file and line; nothing is run.

        `code`: a folder, archive, file or https git address. `paper`: a file, else `arxiv`: an id.
        `run`: the command that runs it, if it is known. It takes a minute or two: if it takes
        longer, a job is returned, and `status` has the differences.
        """
        given = {"paper": own_path(self.here, paper), "arxiv": arxiv, "run": run}
        arguments = [f"--{name}={value}" for name, value in given.items() if value]
        job = self.jobs.start("audit", [*arguments, "--json", "--", self._program(code)])
        return shown(self._wait(job, WAIT))

    def verify_code(
        self,
        code: str,
        paper: str = "",
        arxiv: str = "",
        experiment: str = "",
        claim: Sequence[str] = (),
        run: str = "",
    ) -> dict[str, Any]:
        """Run code that exists, and hold what it gives and what it does against its paper; returns
        at once with a job, whose trial `verdict` is asked for when it has ended.

        `code`: a folder, archive or file below the folder where this server was started, or an
        https git address. `paper`: a file there, else `arxiv`: an id. `experiment`: whose numbers,
        "Table 2" or in words; none for the whole paper. `claim`: the paper's numbers, "ROW: METRIC
        = VALUE". `run`: a bash line that runs it, if it is known.
        """
        given = {"paper": own_path(self.here, paper), "arxiv": arxiv, "experiment": experiment}
        arguments = [f"--{name}={value}" for name, value in {**given, "run": run}.items() if value]
        arguments += [f"--claim={value}" for value in claim]
        job = self.jobs.start("verify", [*arguments, "--json", "--", self._program(code)])
        return shown(self.jobs.wait(job, 0))

    def score_code(
        self, path: str, task: str, levels: str = "", judge: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Score a program (file, folder, archive, git URL) against a task's paper.

        `levels`: some of paper,code,mixed,execution,gap. `judge`: of this server's
        models, those that read it.
        """
        own = self.settings.model
        if others := set(judge) - {own.name, own.research, own.code}:
            raise UsageError(
                f"{min(others)} isn't a model of this server, and whoever started it pays",
                fix="leave judge out, or have the server started with that --model",
            )
        options = [f"--task={task}", *(f"--judge={name}" for name in judge)]
        options += [f"--levels={levels}"] if levels else []
        job = self.jobs.start("score", [*options, "--json", "--", self._program(path)])
        return shown(self._wait(job, WAIT))

    def status(self, job: str, wait_seconds: float = 0.0) -> dict[str, Any]:
        """How far a job is: its phase, the last line, the seconds that may be left, the cost so
        far, and what it ended with.

        `wait_seconds`: return when it ends, or after so many seconds (at most 50).
        """
        return shown(self._wait(job, min(max(wait_seconds, 0.0), WAIT)))

    def stop(self, job: str) -> dict[str, Any]:
        """Stop a job; what it finished stays, and starting the same again resumes it."""
        self.jobs.stop(job)
        return shown(self._wait(job, WAIT))

    def verdict(self, trial: str) -> dict[str, Any]:
        """What a trial's number says of the paper, in under 2 kB: the sentence, why, the claims and
        differences that matter most. `more` names resources that hold all of them.
        """
        from autoreproduce.claims.verdicts.trial_verdict import claims_problem
        from autoreproduce.evaluation.report.audit_page import effect_lines
        from autoreproduce.evaluation.report.claims_table import claim_rows
        from autoreproduce.evaluation.report.evidence import gather
        from autoreproduce.evaluation.report.headline import headline
        from autoreproduce.evaluation.report.page import replay_words
        from autoreproduce.trials.result import read_result

        folder = self._trial_folder(trial)
        row, result = self._trial_row(folder), read_result(folder)
        if result is None:
            return row
        evidence = gather(folder)
        verdict = result.claims
        rows = sorted(claim_rows(verdict, result.audit), key=lambda one: one.word == "reproduced")
        differences = result.audit.moving if result.audit else ()
        titles = {one.claim.id: one.claim.title for one in result.judged}
        replayed = evidence.record.replayed if evidence.record is not None else None
        kept = ("trial", "status", "verdict", "metric", "recomputed", "cost", "reason")
        answer = {
            "sentence": result.sentence or result.reason,
            **{name: row[name] for name in kept if row.get(name) not in ("", None)},
            "integrity": result.integrity,
            "problem": claims_problem(folder, verdict) if verdict else "nothing was judged",
            **({"replayed": replay_words(replayed)} if replayed is not None else {}),
            "counts": dict(Counter(one.word for one in rows)),
            "more": [f"{SCHEME}{trial}/{name}" for name in ("claims", "report")],
            "data": str(folder / "result.json"),
        }
        lists = {
            "reasons": list(headline(evidence, evidence.task()).reasons),
            "remarks": [*(verdict.remarks if verdict else ()), *result.warnings],
            "claims": [f"{one.name}: {one.line}" for one in rows],
            "differences": [
                "; ".join(
                    [
                        f"{one.place or 'absent'}: the code: {cut(one.does, 100)}",
                        *(f"the paper's way: {each}" for each in effect_lines(one, titles)[:1]),
                        f"the paper: {one.paper_says}",
                    ]
                )
                for one in differences
            ],
        }
        return shortened(answer, lists)

    def claims(self, trial: str) -> dict[str, Any]:
        """A trial's verdict and audit in full, as its result holds them."""
        from autoreproduce.trials.result import read_result

        result = read_result(self._trial_folder(trial))
        found = {"claims": result.claims, "audit": result.audit} if result else {}
        return {name: part.model_dump(mode="json") for name, part in found.items() if part}

    def page(self, trial: str) -> str:
        """A trial's report, as HTML."""
        file = file_inside(self.runs, self._trial_folder(trial) / "report.html")
        if file is None:
            raise TrialError(f"{trial} has no report", fix=f"autoreproduce report {trial}")
        return file.read_text(encoding="utf-8")

    def report(self, trial: str) -> dict[str, Any]:
        """The closing lines of a trial as text, and where its report (HTML) and result lie."""
        from autoreproduce.runner.summary import places, summary
        from autoreproduce.trials.trial import Trial

        folder = self._trial_folder(trial)
        judged, facts = summary(Trial.read(folder).result, folder)
        lines = [judged.sentence, *(f"{label}: {value}" for label, value in facts)]
        return {"text": clean("\n".join(lines)), **dict(places(folder))}

    def _wait(self, job: str, seconds: float) -> JobState:
        return self.jobs.wait(job, seconds, TELL.get())

    def _program(self, path: str) -> str:
        """A program's https address, or its path below the folder where the server was started."""
        from autoreproduce.files.unpacking import is_url

        if not is_url(path):
            return own_program(self.here, path, self.runs)
        if not path.startswith("https://"):
            raise UsageError(f"{path} isn't an https address", fix="name one, or a folder here")
        return path

    def _trial_row(self, folder: Path) -> dict[str, Any]:
        from autoreproduce.trials.trial import Trial

        name = str(folder.relative_to(self.runs))
        try:
            refuse_links(folder)
            trial = Trial.read(folder)
        except AutoReproduceError as error:
            return {"trial": name, "status": "damaged", "reason": str(error)}
        record, outcome = trial.record, trial.result
        row = {"trial": name, "task": record.task, "profile": record.profile, "model": record.model}
        if outcome is None:
            return {**row, "status": "unfinished", "steps": len(trial.steps)}
        row |= {name: getattr(outcome, name) for name in RESULT_FIELDS}
        return {**row, "cost": outcome.cost.dollars, "seconds": outcome.cost.seconds}

    def _trial_folder(self, trial: str) -> Path:
        """The folder of a trial below that of runs, and of no other."""
        file = file_inside(self.runs, Path(trial) / "trial.json")
        if file is None:
            raise TrialError(f"there is no trial {trial}", fix="list_trials names them")
        refuse_links(file.parent)
        return file.parent


def shown(state: JobState) -> dict[str, Any]:
    """A job's state for a client: where it is, what it ended with, and what it printed last."""
    by_event: dict[str, list[dict[str, Any]]] = {}
    for line in state.lines:
        by_event.setdefault(str(line.get("event", "")), []).append(line)
    answer: dict[str, Any] = {"job": state.id, "running": state.running}
    if phases := by_event.get("phase"):
        steps = by_event.get("step", [])
        answer |= {"phase": phases[-1].get("name"), "steps": len(steps)}
        prices = [step.get("price") for step in steps if step.get("kind") == "model"]
        answer["cost"] = (
            None if None in prices else sum(price for price in prices if price is not None)
        )
    if state.running:
        answer |= {"last_line": last_line(state), "seconds_left": _seconds_left(phases)}
    if notes := by_event.get("note"):
        answer["notes"] = [cut(str(note.get("text")), 300) for note in notes[-5:]]
    if ended := by_event.get("result"):
        answer["results"] = [_result_row(line) for line in ended]
    audits = [_audit_row(line) for line in by_event.get("audit", [])]
    if results := [*by_event.get("", []), *audits]:
        answer["result"] = results[0] if len(results) == 1 else results
    if state.errors and not state.running:
        answer["errors"] = clean(state.errors)
    return answer


def last_line(state: JobState) -> str:
    """What a job did last, in a line: what its program printed, a note, a step, or its phase."""
    events = (each for each in reversed(state.lines) if each.get("event") in LATEST)
    now: dict[str, Any] = next(events, {})
    told = now.get("text") or now.get("command") or now.get("name")
    return clean(str(told or state.errors.rpartition("\n")[2]))[:200]


def _seconds_left(phases: list[dict[str, Any]] | None) -> int | None:
    """By the latest phase's own forecast, less what has passed since; None if nothing is known."""
    told = [phase for phase in phases or () if phase.get("left_seconds") is not None]
    if not told:
        return None
    passed = (datetime.now(UTC) - datetime.fromisoformat(told[-1]["at"])).total_seconds()
    return max(0, round(float(told[-1]["left_seconds"]) - passed))


def planned(line: dict[str, Any] | None, settings: Settings, paper: str) -> dict[str, Any]:
    """A paper's plan for a client, or before there is one what the paper's text alone shows."""
    from autoreproduce.runner.preview import preview_paper
    from autoreproduce.runner.whole_paper.plan import named_paper

    source = named_paper(paper, settings)
    preview = preview_paper(source, settings)
    named = "arxiv" if source.arxiv else "paper"
    each = preview.each.as_json()
    answer: dict[str, Any] = {
        "paper": preview.paper.title if preview.paper else paper,
        "cost_of_one": {name: each[name] for name in ("dollars", "tokens", "seconds")},
        "notes": preview.notes,
    }
    if line is None:
        tables = preview.paper.tables if preview.paper else []
        rows = [{"experiment": one.name, "what": one.caption} for one in tables if one.named]
        first = rows[0]["experiment"] if rows else "main"
        command = ["autoreproduce", f"--{named}", paper, "--experiment", first]
        answer |= {"rows": rows, "command": shlex.join(command)}
    else:
        columns = ("name", "what", "dataset", "data", "minutes", "gpu", "main")
        rows = [
            {name: one[name] for name in columns}
            | {"claims": [_printed(claim) for claim in one["claims"]]}
            for one in line["experiments"]
        ]
        command = shlex.split(line["command"])
        first = command[command.index("--experiment") + 1]
        planning = {"dollars": line["cost"], "usage": line["usage"]}
        answer |= {"rows": rows, "command": line["command"], "planning": planning}
        answer["warnings"] = line["warnings"]
    return answer | {"start_reproduction": {named: paper, "experiment": [first]}}


def _printed(claim: dict[str, Any]) -> str:
    where = " / ".join((*claim["row"], *claim["column"])) or claim["metric"]
    return f"{where}: {claim['printed'] or claim['value']}{claim['unit']}"


def cut(text: str, most: int) -> str:
    """The text's first `most` characters, with an ellipsis if there were more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shortened(answer: dict[str, Any], lists: dict[str, list[str]]) -> dict[str, Any]:
    """The answer with as much of each list as 2 kB hold, a line of each in turn; what was left out
    is counted.
    """

    def size(of: dict[str, Any]) -> int:
        return len(json.dumps(of, ensure_ascii=False).encode())

    answer = {name: cut(v, 300) if isinstance(v, str) else v for name, v in answer.items()}
    kept: dict[str, list[str]] = {name: [] for name, lines in lists.items() if lines}
    for at in range(max(map(len, lists.values()), default=0)):
        for name, lines in lists.items():
            new = [cut(lines[at], 260)] if at < len(lines) else []
            more = {**kept, name: [*kept[name], *new]} if new else kept
            if size({**answer, **more, "left_out": dict.fromkeys(lists, 999)}) < LARGEST_VERDICT:
                kept = more
    left = {name: len(lists[name]) - len(lines) for name, lines in kept.items()}
    return {**answer, **kept, "left_out": {name: n for name, n in left.items() if n}}


def _result_row(line: dict[str, Any]) -> dict[str, Any]:
    row = {name: line.get(name) for name in RESULT_FIELDS}
    trial = Path(str(line.get("folder", ""))).name
    return {"trial": trial, **row, "report": line.get("report")}


def _audit_row(line: dict[str, Any]) -> dict[str, Any]:
    """An audit by its differences, those that can move a number first, and the file with all."""
    found = sorted(line.get("differences", []), key=lambda one: one.get("moves") == "no")
    places = [f"{one['file']}:{one['first']}" if one.get("file") else "absent" for one in found]
    differences = [
        f"{place} (moves a number: {one.get('moves')}, {one.get('sure')} confidence): "
        f"the code {cut(str(one.get('does')), 160)}; the paper: {cut(str(one.get('says')), 120)}"
        for place, one in zip(places, found, strict=True)
    ]
    kept = {
        name: line.get(name) for name in ("sentence", "cost", "problem", "unread") if line.get(name)
    }
    counts = {name: len(line.get(name, [])) for name in ("agreements", "beside", "dropped")}
    file = str(Path(str(line.get("folder", ""))) / "audit.json")
    return {**kept, "differences": differences, **counts, "data": file}


def mcp_server(settings: Settings) -> Any:
    """The server with its tools, on no transport yet. Raises UsageError without the extra."""
    from autoreproduce.contracts import VERSION

    sdk = optional_module("mcp.server.mcpserver", "mcp")
    server = sdk.MCPServer(
        "autoreproduce", instructions=INSTRUCTIONS, version=VERSION, log_level="WARNING"
    )
    tools = Tools(settings)
    for tool in tools.all():
        server.add_tool(_served(tool))
    server.resource(f"{SCHEME}{{+trial}}/claims", mime_type="application/json")(
        _plain_errors(tools.claims, "ResourceError")
    )
    server.resource(f"{SCHEME}{{+trial}}/report", mime_type="text/html")(
        _plain_errors(tools.page, "ResourceError")
    )
    return server


def serve_stdio(settings: Settings) -> None:
    """Serve one client over stdin and stdout until it goes."""
    mcp_server(settings).run("stdio")


def serve_http(settings: Settings, port: int, token: str, note: Callable[[str], None]) -> None:
    """Serve over HTTP on this machine alone, to who sends the token, until interrupted."""
    server = mcp_server(settings)
    uvicorn = optional_module("uvicorn", "mcp")
    token = token or secrets.token_urlsafe(24)
    app = bearer_only(server.streamable_http_app(host="127.0.0.1"), token)
    note(f"MCP at http://127.0.0.1:{port}/mcp, with the header Authorization: Bearer {token}")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def bearer_only(app: Any, token: str) -> Any:
    """An ASGI app that answers 401 to whoever does not send the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers") or []).get(b"authorization", b"")
        if scope["type"] == "http" and not secrets.compare_digest(sent, wanted):
            head = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return guarded


def _served(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool in a thread of its own, with errors of ours as the protocol's, so that a client
    reads the fix, and with a notification of progress a second while it waits for a job.
    """
    import anyio
    import anyio.from_thread
    import anyio.to_thread

    checked = _plain_errors(tool)
    context_class = optional_module("mcp.server.mcpserver", "mcp").Context

    async def served(ctx: Any, **given: Any) -> Any:
        told = count(1)

        def tell(state: JobState) -> None:
            phase = shown(state).get("phase")
            message = ": ".join(dict.fromkeys(filter(None, (phase, last_line(state)))))
            anyio.from_thread.run(ctx.report_progress, next(told), None, message or "it starts")

        def call() -> Any:
            TELL.set(tell)
            return checked(**given)

        return await anyio.to_thread.run_sync(call)

    signature = inspect.signature(tool)
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [each.replace(kind=kind) for each in signature.parameters.values()]
    ctx = inspect.Parameter("ctx", kind, annotation=context_class)
    served.__name__, served.__doc__ = tool.__name__, tool.__doc__
    served.__annotations__ = {**tool.__annotations__, "ctx": context_class}
    vars(served)["__signature__"] = signature.replace(parameters=[*parameters, ctx])
    return served


def _plain_errors(
    function: Callable[Arguments, Answer], kind: str = "ToolError"
) -> Callable[Arguments, Answer]:
    raised = getattr(optional_module("mcp.server.mcpserver.exceptions", "mcp"), kind)

    @wraps(function)
    def checked(*args: Arguments.args, **given: Arguments.kwargs) -> Answer:
        try:
            return function(*args, **given)
        except AutoReproduceError as error:
            raise raised(clean(str(error))) from error

    return checked


# What a client names on this machine: what a web page told it must not show it your keys.


# What code hosts and tools keep in a repository. Beside these, what git tracks is no secret.
HARMLESS = {".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".DS_Store", ".github"}
HARMLESS |= {".gitlab-ci.yml", ".travis.yml", ".circleci", ".pre-commit-config.yaml", ".flake8"}
HARMLESS |= {".editorconfig", ".dockerignore", ".Rbuildignore", ".readthedocs.yaml", ".coveragerc"}


def own_path(here: Path, path: str) -> str:
    """`path` as it was given, a file or a folder that a program is shown whole.

    Raises UsageError unless it lies below `here`, and nothing hidden is in its name or comes along.
    """
    return _visible(here, path, (), None)


def own_program(here: Path, path: str, runs: Path) -> str:
    """The same of a program, which goes without the folder of `runs`, git's and environments'."""
    return _visible(here, path, NOT_WRITTEN, runs)


def _visible(here: Path, path: str, skipped: Collection[str], runs: Path | None) -> str:
    if not path:
        return path
    real = inside(here, path)
    if any(part.startswith(".") for part in real.relative_to(here.resolve()).parts):
        raise UsageError(f"{path} is hidden", fix="name a file or folder that is not")
    if found := next(_hidden_below(real, skipped, runs), None):
        raise UsageError(
            f"{path} is a folder with {found}, which is hidden and would come along",
            fix="name a folder without it",
        )
    return path


def _hidden_below(top: Path, skipped: Collection[str], runs: Path | None) -> Iterator[str]:
    """The hidden entries below a folder that git doesn't track, by their path in it; no link is
    followed.
    """
    tracked = _tracked(top)
    for where, folders, files in os.walk(top):
        folder = Path(where)
        folders[:] = [name for name in folders if name not in skipped and folder / name != runs]
        for name in (*folders, *files):
            path = str((folder / name).relative_to(top))
            known = name in HARMLESS or name in skipped or path in tracked
            if name.startswith(".") and not known and not (name in folders and _has(tracked, path)):
                yield path


def _tracked(top: Path) -> set[str]:
    """The files that git tracks in a folder that is a repository."""
    if not (top / ".git").is_dir():
        return set()
    try:
        asked = ["-c", f"safe.directory={top}", "ls-files", "-z"]
        return set(run_git(top, asked, 20, environment=NO_CONFIGURATION).decode().split("\0"))
    except (AutoReproduceError, OSError, ValueError):
        return set()


def _has(tracked: Collection[str], folder: str) -> bool:
    return any(name.startswith(f"{folder}/") for name in tracked)
