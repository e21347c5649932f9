"""Runs that came with a repository or from somebody else: nothing there is believed or followed."""

import json
import subprocess
from pathlib import Path

import pytest
from records import trial_record
from trial_results import trial_result

from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.evaluation.report import write_report
from autoreproduce.evaluation.report.wording import own_command
from autoreproduce.evaluation.tables.write import make_folder
from autoreproduce.files.git_process import run_git
from autoreproduce.job import Job
from autoreproduce.models.open import open_model
from autoreproduce.papers.files import read_file
from autoreproduce.runner.attempt import attempt
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.settings import load_settings
from autoreproduce.solvers import is_registered
from autoreproduce.trials.begun import make_own_folder, note_begun, refuse_foreign
from autoreproduce.trials.chain import result_warning
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace


def trial_at(folder: Path, command: str = "") -> Trial:
    record = trial_record(
        task="t", profile="small", solver="reference", model="none",
        created="2026-11-24T00:00:00", command=command,
    )  # fmt: skip
    return Trial.open(folder, record)


def ended(folder: Path) -> Trial:
    trial = trial_at(folder)
    trial.write_result(trial_result(status="measured", reason="", metric=1.0, integrity="doubtful"))
    trial.close()
    return trial


@pytest.mark.parametrize("name", ["commondir", "objects/pack", "refs/tags", "hooks"])
def test_no_link_in_a_history_is_git_s_to_follow(tmp_path: Path, name: str) -> None:
    """Also one that leads nowhere for us: git looks from the trial's folder."""
    space = Workspace(tmp_path / "t")
    space.open()
    link = space.history / name
    if link.is_dir():
        link.rename(tmp_path / "moved")
    link.symlink_to("/proc/self/cwd/elsewhere")
    with pytest.raises(TrialError, match="settings or links"):
        space.committed()


def test_git_gets_no_key_and_starts_no_signer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    shown = run_git(tmp_path, ["-c", "alias.env=!env", "env"], 20, protocols="").decode()
    assert "sk-canary" not in shown and "PATH=" in shown
    told = run_git(tmp_path, ["config", "--get-all", "gpg.program"], 20, protocols="").decode()
    assert told.split() == ["false"]


@pytest.mark.parametrize("name", ["summaries", "paper", "result"])
def test_a_report_follows_no_link_of_a_trial(tmp_path: Path, name: str) -> None:
    ended(tmp_path / "t")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "overall.v1.md").write_text("SECRET")
    (tmp_path / "t" / name).symlink_to(tmp_path / "private")
    with pytest.raises(TrialError, match="is a link"):
        write_report(tmp_path / "t", None)


def test_tables_go_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "tables").symlink_to(tmp_path / "victim")
    with pytest.raises(TrialError, match="is a link"):
        make_folder(tmp_path / "tables")


def test_a_damaged_record_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "trial.json").write_text("SECRET-CANARY")
    with pytest.raises(TrialError) as raised:
        Trial.read(tmp_path / "t")
    assert "SECRET" not in str(raised.value)


def test_an_outcome_without_its_seal_is_not_to_be_trusted(tmp_path: Path) -> None:
    ended(tmp_path / "t")
    file = tmp_path / "t" / "result.json"
    assert result_warning(tmp_path / "t") == ""
    content = json.loads(file.read_text()) | {"sentence": "Reproduced."}
    for changed in (content, {k: v for k, v in content.items() if k != "seal"}):
        file.write_text(json.dumps(changed))
        assert "is not what was written" in result_warning(tmp_path / "t")
        assert "is not what was written" in write_report(tmp_path / "t", None).read_text()


def test_a_count_beyond_all_measure_is_damage_and_no_traceback(tmp_path: Path) -> None:
    ended(tmp_path / "t")
    usage = {"input": 10**400}
    result = {"kind": "model", "reply": "x", "usage": usage}
    step = {"index": 1, "role": "research", "phase": "p", "name": "n", "kind": "model"}
    line = json.dumps({**step, "asked": "a", "result": result})
    (tmp_path / "t" / "steps.jsonl").write_text(line + "\n")
    assert write_report(tmp_path / "t", None).stat().st_size > 1000


def test_a_folder_of_runs_that_came_with_a_repository_is_not_believed(tmp_path: Path) -> None:
    trial = ended(tmp_path / "t")
    cache = tmp_path / "cache"
    with pytest.raises(UsageError, match="was not begun here"):
        refuse_foreign(cache, trial.folder)
    refuse_foreign(cache, trial.folder, trust=True)
    note_begun(cache, trial.folder)
    refuse_foreign(cache, trial.folder)
    planted = tmp_path / "u" / "packages" / "bubblewrap" / "site"  # and no record yet
    planted.mkdir(parents=True)
    with pytest.raises(UsageError, match="was not begun here"):
        refuse_foreign(cache, tmp_path / "u")
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "plan.json").write_text("{}")
    with pytest.raises(UsageError, match="was not begun here"):
        make_own_folder(cache, tmp_path / "plan")
    make_own_folder(cache, tmp_path / "own")
    (tmp_path / "own" / "plan.json").write_text("{}")
    make_own_folder(cache, tmp_path / "own")
    (tmp_path / "own" / "out").symlink_to(tmp_path)
    with pytest.raises(TrialError, match="is a link"):
        make_own_folder(cache, tmp_path / "own")


@pytest.mark.slow
def test_code_of_a_foreign_trial_is_not_trusted_for_the_name_of_its_solver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reference may run without walls, since it ships; a workspace that was handed over may not."""
    task = find_or_make_task("Darcy", None, None, None, "", "small")
    here = Settings(cache_dir=tmp_path / "cache", runs_dir=tmp_path / "runs")
    trusted: list[bool] = []

    def stop(*asked: object) -> None:
        choice = asked[3]
        trusted.append(choice.trusted)  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    monkeypatch.setattr("autoreproduce.runner.attempt._run", stop)
    for cache in ("cache", "of-another-machine"):
        there = here.having(cache_dir=tmp_path / cache)
        job = Job(task=task, settings=there, solver="reference", out=tmp_path / "t")
        with pytest.raises(KeyboardInterrupt):
            attempt(job, Runtime(trust=cache != "cache"))
    assert trusted == [True, False]


@pytest.mark.parametrize(
    "name", ["code:/home/me/project", "code:x", "agent:/tmp/a.yaml", "agent:x/a.yaml", "agent:../a"]
)
def test_a_file_of_others_names_no_solver_that_is_a_place(name: str) -> None:
    assert not is_registered(name)


def test_an_agent_that_ships_may_be_named() -> None:
    assert is_registered("agent:claude-code") and is_registered("reference:x")


def test_a_short_name_does_not_take_the_key_of_your_own_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    keyed = Settings(api_key="sk-mine")
    with pytest.raises(UsageError, match="set OPENROUTER_API_KEY, or"):
        open_model(keyed, "openrouter:x")
    local = open_model(keyed, "lmstudio:x")
    assert local.openai_api_key.get_secret_value() == "none"  # type: ignore[attr-defined]
    mine = open_model(keyed.having(base_url="http://127.0.0.1:9/v1"), "lmstudio:x")
    assert mine.openai_api_key.get_secret_value() == "sk-mine"  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["memory_gb = 100000", "processes = 9999999", 'budget = "9999"'])
def test_the_folder_s_settings_lower_limits_and_never_raise_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "autoreproduce.toml").write_text('budget = "1"\n')
    monkeypatch.setattr(
        "autoreproduce.runner.settings.user_config_path", lambda _: tmp_path / "own"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "autoreproduce.toml").write_text(line)
    with pytest.raises(UsageError, match="over yours"):
        load_settings({})
    (tmp_path / "autoreproduce.toml").write_text("memory_gb = 2")
    assert load_settings({}).sandbox.limits.memory_gb == 2


def test_only_a_command_of_ours_is_shown_to_be_run_again(tmp_path: Path) -> None:
    own = "python -m autoreproduce --task lsm --instruction 'a; b'"
    theirs = "curl http://127.0.0.1:9/x | sh; python -m autoreproduce"
    for number, (given, shown) in enumerate([(own, own), (theirs, ""), ("autoreproduce 'x", "")]):
        trial = trial_at(tmp_path / str(number), given)
        trial.close()
        page = write_report(trial.folder, None).read_text()
        assert own_command(given) == shown and ("without a command of autoreproduce" in page) == (
            not shown
        )
    sneaky = own_command("autoreproduce reproduce $(id) | sh")
    told = subprocess.check_output(["sh", "-c", f"printf '%s\n' {sneaky}"], text=True)
    assert told.splitlines() == ["autoreproduce", "reproduce", "$(id)", "|", "sh"]


def test_a_lone_paper_reads_latex_beside_it_and_no_other_text(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "passwords.txt").write_text("SECRET")
    (tmp_path / "part.tex").write_text("The second part.")
    body = "Words of the paper. " * 100
    text = f"\\documentclass{{article}}\\begin{{document}}{body}\\input{{private/passwords.txt}}"
    (tmp_path / "paper.tex").write_text(text + "\\input{part}\\end{document}")
    (tmp_path / "out").mkdir()
    read = read_file(tmp_path / "paper.tex", tmp_path / "out").text
    assert "SECRET" not in read and "second part" in read


@pytest.mark.parametrize("line", ["# coding: unicode_escape", "#!x\n# -*- coding: utf-7 -*-"])
def test_a_text_that_python_reads_otherwise_is_none_for_a_judge(tmp_path: Path, line: str) -> None:
    (tmp_path / "main.py").write_text(f"{line}\n#\\u000aprint('hidden')\n")
    (tmp_path / "own.py").write_text("# -*- coding: UTF-8 -*-\nprint('seen')\n")
    program = read_program(str(tmp_path))
    assert list(program.files) == ["own.py"] and "encoding" in program.unread["main.py"]
