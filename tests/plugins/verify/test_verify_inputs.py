"""What `verify` takes from the code's folder by itself, and what the paper is asked about."""

from pathlib import Path

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for

from autoreproduce.agents.prompts import Prompts
from autoreproduce.plugins.verify.handed_in import whose_numbers
from autoreproduce.plugins.verify.verify import verify, verify_job


def code_in(folder: Path, listed: str | None = None) -> Path:
    code = folder / "gated-nets"
    code.mkdir()
    (folder / "paper.md").write_text("# Means\nOurs has a mean of 3.9 on the points of a line.\n")
    (code / "main.py").write_text("print('mean 3.9')\n")
    if listed is not None:
        (code / "requirements.txt").write_text(listed)
    return code


@pytest.mark.parametrize(
    ("listed", "taken"),
    [
        ("numpy==1.26.4\n", True),
        ("# for plots\nmatplotlib >= 3\n", True),
        (None, False),
        ("# nothing\n", False),
        ("-e .\nnumpy\n", False),
        ("git+https://example.org/x\n", False),
    ],
)
def test_without_a_model_the_codes_own_list_of_packages_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], listed: str | None, taken: bool
) -> None:
    code = code_in(tmp_path, listed)
    job = verify_job(
        code,
        settings_for("process", runs_dir=tmp_path / "runs"),
        run="python main.py",
        metric_from=["ours_mean=stdout:mean"],
        claims=["Ours: mean = 3.9"],
        paper=tmp_path / "paper.md",
    )
    assert (job.of_program.requirements == code / "requirements.txt") is taken
    unusable = listed is not None and ("-e" in listed or "git+" in listed)
    assert ("own list is installed" in capsys.readouterr().err) is unusable


@pytest.mark.parametrize("experiment", ["", "Table 2"])
def test_the_paper_is_not_asked_about_the_folders_name_or_a_placeholder(
    tmp_path: Path, experiment: str
) -> None:
    code = code_in(tmp_path)
    given = settings_for("process", runs_dir=tmp_path / "runs")
    with chat_server(lambda request: "none_because: it states none") as server:
        settings = given.having(model="scripted", base_url=server.base_url)
        paper = tmp_path / "paper.md"
        verify(code, settings=settings, paper=paper, experiment=experiment)
    asked = server.requests[0].prompt
    assert "first_claim" not in asked and "gated-nets" not in asked and "Data:" not in asked
    assert f"numbers that the paper states for {experiment or 'this experiment'}:" in asked


def test_the_name_of_an_address_is_no_experiment_either() -> None:
    code, settings = "https://github.com/a/gated.git", settings_for("process")
    job = verify_job(code, settings, arxiv="2310.06625")
    assert job.of_program.name == "gated"
    about = whose_numbers(job.of_task, job.of_program)
    text = Prompts().render("context/task", task=about)
    assert "gated" not in text and "Metric" not in text
