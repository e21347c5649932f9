"""What calibrating judges would take, before anything is asked."""

from typing import Any

from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.plugins.lab.calibrate import CalibrationRequest, levels_and_tasks
from autoreproduce.plugins.lab.calibration import cases
from autoreproduce.runner.score_plan import plan_of, questions_of


def plan_of_calibration(request: CalibrationRequest) -> dict[str, Any]:
    """What `calibrate` would ask its judges at most."""
    levels, tasks = levels_and_tasks(request)
    known = [(case.program, task) for task in tasks for case in cases(task)]
    questions = [
        question
        for program, task in known
        for question in questions_of(program, task, material_of(task), levels)
    ]
    return plan_of(len(known), questions, request.judges, request.repeats, request.settings)
