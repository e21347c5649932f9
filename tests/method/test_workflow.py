"""The method as a graph: what `autoreproduce graph` draws is what runs."""

from autoreproduce.config import MethodSettings
from autoreproduce.method.development import SUPERSTEPS, recursion_limit
from autoreproduce.method.workflow import WRITING, build_graph, draw

ALL = MethodSettings(effort="paper")
LEAN = MethodSettings()


def edges(settings: MethodSettings, phase: str = "") -> dict[tuple[str, str], str]:
    """(from, to) → label, of the whole graph or of one phase's loop."""
    drawn = build_graph(settings).get_graph(xray=True)
    named = {(e.source, e.target): (e.data or "").strip() for e in drawn.edges}
    inside = f"{phase}:"
    return {
        (source.removeprefix(inside), target.removeprefix(inside)): label
        for (source, target), label in named.items()
        if not phase or (source.startswith(inside) and target.startswith(inside))
    }


def test_the_phases_stand_in_the_papers_order() -> None:
    nodes = list(build_graph(ALL).get_graph().nodes)
    assert [name for name in nodes if not name.startswith("__")] == [
        "paper",
        "literature_review",
        "claims",
        "choices",
        "paper_lineage",
        "data_acquisition",
        "method_replication",
        "experiment_execution",
        "refactoring",
        "full_run",
    ]


def test_debugging_and_review_are_in_the_picture() -> None:
    assert edges(ALL, "method_replication") == {
        ("write", "run"): "written",
        ("write", "finish"): "cannot be done",
        ("run", "analyse"): "fails",
        ("analyse", "edit"): "analysed",
        ("analyse", "run"): "no usable reply",
        ("edit", "run"): "written",
        ("edit", "finish"): "cannot be done",
        ("run", "review"): "runs",
        ("review", "improve"): "feedback",
        ("improve", "run"): "",
        ("run", "finish"): "attempts used up",
        ("review", "finish"): "submitted / no usable reply / attempts used up",
    }
    assert edges(ALL, "method_replication") == edges(ALL, "experiment_execution")


def test_data_is_not_reviewed() -> None:
    loop = edges(ALL, "data_acquisition")
    assert loop["run", "finish"] == "runs / attempts used up"
    assert not {"review", "improve"} & {node for edge in loop for node in edge}


def test_by_evidence_one_review_sees_the_whole_program() -> None:
    reviewed = {phase.name for phase in WRITING if ("run", "review") in edges(LEAN, phase.name)}
    assert reviewed == {"experiment_execution"}
    assert edges(LEAN, "experiment_execution")["run", "edit"] == "fails"


def test_what_is_left_out_is_not_drawn() -> None:
    bare = MethodSettings(lineage=False, debug=False, refine=False)
    assert "paper_lineage" not in draw(bare)
    for phase in WRITING:
        loop = edges(bare, phase.name)
        assert loop == {
            ("write", "run"): "written",
            ("write", "finish"): "cannot be done",
            ("run", "finish"): "runs / fails",
        }


def test_a_phase_that_fails_ends_the_method() -> None:
    for phase in WRITING:
        assert edges(ALL)[f"{phase.name}:finish", "__end__"] == "failed"


def test_the_graph_may_take_as_many_steps_as_its_longest_loop() -> None:
    settings = MethodSettings(max_debug=50)
    assert build_graph(settings).config["recursion_limit"] == recursion_limit(settings)
    assert recursion_limit(settings) > SUPERSTEPS * 50 + len(build_graph(settings).nodes)
