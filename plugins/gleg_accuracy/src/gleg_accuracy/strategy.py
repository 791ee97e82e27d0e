"""How a problem is solved: on which basis, by how many trials, and what its run says of its own error.

A file that leaves resolution or tolerances open is solved by trials until an accuracy is reached. One that leaves only the cells of a local
basis open is solved again on finer cells where they leave much. One that names no basis gets the packs' second choice if the first does
not resolve the solution. Judges look at what comes out.
"""

import math
import warnings
from dataclasses import replace
from functools import cache, partial

from gleg_accuracy.cell_errors import space_error
from gleg_accuracy.cells import is_adaptive, solve_on_cells
from gleg_accuracy.judgement import judged, tell
from gleg_accuracy.patience import Doubt, OutOfPatience, Patience
from gleg_accuracy.posedness import ill_posed
from gleg_accuracy.resolution import require_resolution, solve_to_accuracy
from gleg_accuracy.time import stops
from gleg_core.errors import NumericsError, SpecError
from gleg_core.estimate import Estimate, Part
from gleg_core.run import Run
from gleg_core.solver import Attempt, Silent
from gleg_core.spec.defaults import Question, suggested
from gleg_core.spec.problem import Problem, load_problem
from gleg_core.stopwatch import Stopwatch
from gleg_core.system.discretise import Discretisation
from gleg_core.terminal import Listener
from gleg_core.threads import one_thread

_RESOLVED = 5e-4
"""What a local basis may leave of a solution before a finer one is looked for."""
_SLOW = "its steps are too short to come to an end"


def solved(problem: Problem, attempt: Attempt, listener: Listener) -> Run:
    """The run that suits a problem, with its estimate; what is not resolved is said."""
    run = _on_suitable_basis(problem, attempt, listener, Patience(problem.section.patience))
    tell(run)
    return run


def _on_suitable_basis(problem: Problem, attempt: Attempt, listener: Listener, patience: Patience) -> Run:
    """The run; on the packs' second choice of a basis if the file names none and the first does not resolve the solution, or would take
    for ever. The first attempt may take its time, for without it there is nothing."""
    clock, second = Stopwatch(), cache(partial(_second_choice, problem))
    run: Run | None = None
    failed: NumericsError | None = None
    try:
        doubt = Doubt(patience, listener, lambda: second(_SLOW) is not None)
        run = _judged(problem, attempt, listener, patience, doubt)
        left = _left(run)
    except OutOfPatience as error:
        failed, left = NumericsError(f"no trial came to its end: {error}; try  patience: 600"), _SLOW
    except NumericsError as error:
        failed, left = error, str(error)
    other = second(left) if left else None
    if other is not None:
        listener.stage("choose", f"{problem.basis.key} is given up: {left}", clock.lap("choose"))
        try:
            again = _judged(other, attempt, listener, patience, patience.watching(listener) if run else listener)
        except OutOfPatience:
            listener.stage("choose", f"{other.basis.key} takes longer than {patience.seconds:g} s", clock.lap("choose"))
        except NumericsError as error:
            listener.stage("choose", f"{other.basis.key} fails: {error}", clock.lap("choose"))
        else:
            if run is None or _total(again) < _total(run):
                return _longer(again, clock.laps["choose"])
    if run is None:
        assert failed is not None
        raise failed
    return run


def _total(run: Run) -> float:
    return -1.0 if run.estimate is None else run.estimate.total


def _longer(run: Run, seconds: float) -> Run:
    """With time that went before counted as choosing."""
    return run.amended(timing={**run.timing, "choose": run.timing.get("choose", 0.0) + seconds})


def _left(run: Run) -> str:
    """What the basis of a run leaves of the solution, if that is too much."""
    parts = () if run.estimate is None or run.trajectory.interrupted else run.estimate.unresolved
    return next((str(replace(part, helps="")) for part in parts if part.cause in ("space", "data")), "")


def _second_choice(problem: Problem, left: str) -> Problem | None:
    """The problem on another basis, for a file that names none."""
    if problem.section.basis is not None or problem.section.unresolved == "ignore":
        return None
    found = suggested(Question("basis", problem, problem.scope, problem.registry, left))
    if found is None or found.kind == problem.basis.key:
        return None
    changed = load_problem(problem, {"basis": {"kind": found.kind, **found.parameters}})
    return replace(changed, basis=replace(changed.basis, reason=found.reason))


def _judged(problem: Problem, attempt: Attempt, listener: Listener, patience: Patience, first: Listener) -> Run:
    """The run on the basis of a problem, with its estimate; ``first`` listens to the first attempt."""
    how = _to_accuracy if problem.needs_trials else _on_finer_cells
    run = how(problem, attempt, listener, patience, first)
    if problem.section.unresolved == "ignore" or run.trajectory.interrupted:
        return run
    if problem.section.time.step == "auto" and not problem.section.time.stops and (pulses := stops(run)):
        listener.stage("choose", f"steps went over what happens at t = {pulses[len(pulses) // 2]:.4g}", 0.0)
        again = load_problem(problem, {"time": {"stops": pulses}})
        return _longer(_judged(again, attempt, listener, patience, first), sum(run.timing.values()))
    clock = Stopwatch()
    with one_thread():
        estimate = judged(run, _known(run))
    told = estimate if run.choice is None or math.isinf(run.choice.estimate) else run.choice
    line = ("estimate", str(told), clock.lap("estimate"))
    listener.stage(*line)
    return run.amended(estimate=estimate, stages=(*run.stages, line), timing={**run.timing, **clock.laps})


def _known(run: Run) -> Estimate | None:
    """What trials have told, else what the cells leave."""
    if run.choice is None:
        return run.estimate
    if math.isfinite(run.choice.space_error) or run.estimate is None:
        maps = {part.cause: part for part in (run.estimate.parts if run.estimate else ())}
        return Estimate(tuple(_placed(part, maps.get(part.cause)) for part in run.choice.known))
    left = [replace(part, allowed=run.choice.accuracy, helps=run.choice.helps) for part in run.estimate.parts]
    return Estimate((*run.choice.known, *left))


def _placed(part: Part, known: Part | None) -> Part:
    """With where and when, if a part of the same cause tells."""
    return part if known is None else replace(part, place=known.place, moment=known.moment, map=known.map)


def _on_finer_cells(problem: Problem, attempt: Attempt, listener: Listener, patience: Patience, first: Listener) -> Run:
    """The run, or one on a finer local basis if its own leaves much of the solution and the file leaves the basis open."""
    clock = Stopwatch()
    run = estimated(attempt, problem, first)
    failure = run.trajectory.failure
    if run.estimate is None or run.trajectory.interrupted or float(run.estimate) <= _RESOLVED:
        return run
    if is_adaptive(problem) and not problem.basis.params.model_fields_set:
        listener.stage("estimate", str(run.estimate), clock.lap("choose"))
        try:
            finer = load_problem(problem, {"accuracy": _RESOLVED})
            trials = patience.watching(listener) if failure is None else listener
            return _longer(_to_accuracy(finer, attempt, listener, patience, trials), clock.laps["choose"])
        except OutOfPatience:
            listener.stage("choose", f"finer elements take longer than {patience.seconds:g} s", clock.lap("choose"))
        except NumericsError as failed:  # the run that there is stays
            if failure is not None:
                failed.run = failed.run or run
                raise
            warnings.warn(f"{problem.document.name}: no finer elements could be used: {failed}", stacklevel=6)
    if failure is not None:
        ended = NumericsError(f"{failure}; {run.estimate.parts[0]}").at(*failure.place)
        ended.run = run
        raise ended
    return run


def estimated(attempt: Attempt, problem: Problem, listener: Listener) -> Run:
    """An attempt, with what the cells of a local basis leave. One that failed is a run until then where the cells leave much, for finer
    ones may do; else it is an error."""
    failed: NumericsError | None = None
    try:
        run = attempt(problem, listener, _refuse_ill_posed)
    except NumericsError as error:
        if error.run is None:
            raise
        run, failed = error.run, error
    left = space_error(run)
    if failed is not None and (left is None or left.total <= _RESOLVED):
        raise failed
    return run if left is None else run.amended(estimate=Estimate((left.part,)))


def _quiet(listener: Listener) -> Listener:
    """Hears only how far a trial has come."""
    quiet = Silent()
    quiet.progress = listener.progress  # type: ignore[method-assign]
    return quiet


def _refuse_ill_posed(d: Discretisation) -> None:
    if d.problem.section.unresolved != "ignore" and (said := ill_posed(d)) is not None:
        raise SpecError(said)


def _to_accuracy(problem: Problem, attempt: Attempt, listener: Listener, patience: Patience, first: Listener) -> Run:
    """Solve with what the file leaves open chosen for its accuracy; only the stages of the trial that is chosen are told."""
    clock = Stopwatch()
    adaptive = is_adaptive(problem)
    if not adaptive:
        require_resolution(problem)
    ears = iter([_quiet(first)])

    def solve(trial: Problem) -> Run:
        return estimated(attempt, trial, next(ears, None) or patience.watching(_quiet(listener)))

    run, choice = (solve_on_cells if adaptive else solve_to_accuracy)(problem, solve, listener, patience)
    for line in run.stages:
        listener.stage(*line)
    chosen = clock.lap("choose") - sum(run.timing.values())
    return run.amended(choice=choice, timing={"choose": chosen, **run.timing})
