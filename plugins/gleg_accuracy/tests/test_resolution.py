"""Problems that state only an accuracy: the true error stays below it, what is stated is left alone, failure is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gleg
from gleg_accuracy import resolution
from gleg_core.errors import SpecError
from gleg_core.spec.problem import load_problem
from gleg_core.system import spaces
from gleg_results.resolved import resolved

EXAMPLES = Path(__file__).parents[3] / "examples"
BESSEL = "besselj0(2.404825557695773*sqrt(x^2 + y^2))*exp(-5.783185962946784*t)"


def heat(**keys: Any) -> dict[str, Any]:
    return {
        "domain": {"kind": "disk", "radius": 1},
        "fields": {"u": {"exact": BESSEL, "boundary": [{"kind": "dirichlet"}], "equation": [{"block": "diffusion"}]}},
        "time": {"end": 0.2},
        "output": {"frames": 4},
        **keys,
    }


def moving() -> dict[str, Any]:
    """A front that runs through an interval: u_t = u_xx/100 + 4 u (1 − u)(u − 0.2), boundary data from the exact wave."""
    return {
        "domain": {"kind": "interval", "left": -1, "right": 1},
        "basis": {"kind": "fourier", "K": "auto"},
        "constants": {"D": 0.01, "r": 4, "a": 0.2, "c": "sqrt(r*D/2)*(1 - 2*a)", "l": "sqrt(2*D/r)"},
        "fields": {
            "u": {
                "exact": "1/(1 + exp((x - c*t)/l))",
                "boundary": [{"kind": "dirichlet", "data": "exact"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "D"},
                    {"block": "reaction", "rate": "4*u*(1 - u)*(u - 0.2)"},
                ],
            }
        },
        "time": {"end": 1},
        "output": {"frames": 4},
    }


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 6e-7])
@pytest.mark.parametrize("problem", [heat(), moving()], ids=["heat", "front"])
def test_the_error_stays_below_the_accuracy(problem: dict[str, Any], accuracy: float) -> None:
    run = gleg.solve({**problem, "accuracy": accuracy})
    assert run.choice is not None and run.choice.reached
    assert run.metrics["relative_l2"]["max"] <= accuracy
    assert run.metrics["accuracy"]["estimate"] <= accuracy


@pytest.mark.parametrize("accuracy", [1e-3, 1e-6])
def test_the_accuracy_is_kept_with_forcing_on_a_rosette(accuracy: float) -> None:
    run = gleg.solve(
        EXAMPLES / "mms-1-rosette.yaml", accuracy=accuracy, basis={"kind": "fourier", "K": "auto"},
        space={"box": "auto"}, time={"step": "auto", "integrator": "auto"}, output={"frames": 2},
    )  # fmt: skip
    assert run.choice is not None and run.choice.reached
    assert run.metrics["relative_l2"]["max"] <= accuracy


def test_the_first_tolerance_is_refined_until_time_errors_are_small() -> None:
    """A reaction that is fast beside everything else: the tolerance that suffices for slow problems does not here."""
    field = {
        "initial": "0.1 + 0.05*x",
        "boundary": [{"kind": "neumann"}],
        "equation": [
            {"block": "diffusion", "coefficient": 0.01},
            {"block": "reaction", "rate": "40*u*(1 - u)*(u + 0.3)"},
        ],
    }
    problem = {
        "domain": {"kind": "interval", "left": -1, "right": 1}, "basis": {"kind": "fourier", "K": 12}, "fields": {"u": field},
        "time": {"end": 0.3}, "output": {"frames": 3},
    }  # fmt: skip
    run = gleg.solve({**problem, "accuracy": 1e-5})
    fine = gleg.solve({**problem, "time": {"end": 0.3, "step": 1e-4, "integrator": "etdrk4"}})
    values = [[float(r.u(0.2, t)) for t in (0.1, 0.2)] for r in (run, fine)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert run.choice is not None and run.choice.time_error < 1e-5


def test_trials_begin_where_the_initial_state_is_represented() -> None:
    """The eighth radial mode of the disk has waves far shorter than the first trial resolves; it decays like exp(−j₈²t)."""
    told: list[str] = []

    class Listener:
        def stage(self, name: str, facts: str, seconds: float) -> None:
            told.append(facts)

        def progress(self, t: float, end: float) -> None:
            pass

    root = 24.352471530749302
    problem = heat(accuracy=1e-5, time={"end": 1e-3})
    problem["fields"]["u"]["exact"] = f"besselj0({root}*sqrt(x^2 + y^2))*exp(-{root**2}*t)"
    run = gleg.solve(problem, listener=Listener())
    assert run.choice is not None and run.choice.reached
    assert run.metrics["relative_l2"]["max"] <= 1e-5
    solved = [text for text in told if "changes by" in text and "from" in text]
    refused = [text for text in told if "the initial state has an error" in text]
    assert len(refused) >= 2 and len(solved) <= 3


def test_short_waves_get_a_smaller_margin() -> None:
    """The twelfth radial mode, which no space of the first few sees at all; a smooth state keeps the default."""
    root = 36.917098353664045
    problem = heat(accuracy=1e-3, time={"end": 1e-4})
    problem["fields"]["u"]["exact"] = f"besselj0({root}*sqrt(x^2 + y^2))*exp(-{root**2}*t)"
    run = gleg.solve(problem)
    assert run.choice is not None and run.choice.reached and run.metrics["relative_l2"]["max"] <= 1e-3
    assert run.problem.section.space.margin == 0.2
    assert gleg.solve(problem | {"space": {"margin": 0.3}}).problem.section.space.margin == 0.3
    assert gleg.solve(heat(accuracy=1e-3)).problem.section.space.margin == "auto"


def test_trials_share_what_does_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a folder for it: the space of the first trial, say, is made once although it is solved with two tolerances."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    made: list[int] = []
    build = spaces.build_space

    def counted(ground: Any, *arguments: Any) -> Any:
        made.append(ground.basis.size)
        return build(ground, *arguments)

    monkeypatch.setattr(spaces, "build_space", counted)
    run = gleg.solve(heat(accuracy=1e-4))
    assert run.choice is not None and run.choice.trials > len(made) == len(set(made))
    gleg.solve(heat(accuracy=1e-4))
    assert len(made) == 2 * len(set(made))  # but nothing is kept from one problem to the next


def test_an_interrupt_between_trials_leaves_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(resolution, "build_spaces", interrupted)
    run = gleg.solve(moving() | {"accuracy": 1e-6})
    assert run.trajectory.interrupted and run.choice is not None and not run.choice.reached
    assert float(run.times[-1]) == 1.0


def test_the_integrator_follows_from_the_step() -> None:
    stated = load_problem(heat(time={"end": 0.2, "step": 0.01}))
    controlled = load_problem(heat())
    assert resolved(stated)["time"]["integrator"]["kind"] == "integrators:etdrk4"
    assert resolved(controlled)["time"]["integrator"] == {
        "kind": "integrators:exponential-collocation", "stages": 6, "sweeps": "auto"
    }  # fmt: skip


def test_a_smaller_accuracy_takes_more_functions() -> None:
    counts = [gleg.solve({**moving(), "accuracy": a}).metrics["space"]["M"] for a in (1e-2, 1e-6)]
    assert counts[0] < counts[1]


def test_what_the_file_states_is_left_alone() -> None:
    stated = heat(
        accuracy=1e-4, basis={"kind": "fourier", "K": 12}, time={"end": 0.2, "step": 0.02}, space={"tau_M": 1e-12}
    )
    run = gleg.solve(stated)
    section = run.problem.section
    assert (run.problem.basis.dump()["K"], section.time.step, section.space.tau_M) == (12, 0.02, 1e-12)
    assert run.choice is not None and run.choice.estimate >= run.metrics["relative_l2"]["max"] / 10


def test_the_resolved_problem_holds_what_was_chosen() -> None:
    run = gleg.solve(heat(accuracy=1e-3))
    again = resolved(run.problem)
    assert run.choice is not None
    assert again["basis"] == {"kind": "fourier:fourier", "K": run.choice.value}
    assert again["space"]["tau_M"] == run.choice.tau_M


def test_an_accuracy_out_of_reach_is_said() -> None:
    """|x| has a kink, so errors fall algebraically: 1e-9 takes more functions than are tried."""
    problem = moving() | {"accuracy": 1e-9, "time": {"end": 1e-4, "step": 1e-4}, "output": {"frames": 1}}
    problem["fields"] = {
        "u": {"initial": "abs(x - 0.1)", "boundary": [{"kind": "free"}], "equation": [{"block": "power"}]}
    }
    run = gleg.solve(problem)
    assert run.choice is not None and not run.choice.reached
    assert "was not reached" in str(run.choice)


def test_the_trials_are_told() -> None:
    class Listener:
        def __init__(self) -> None:
            self.stages: list[tuple[str, str]] = []

        def stage(self, name: str, facts: str, seconds: float) -> None:
            self.stages.append((name, facts))

        def progress(self, t: float, end: float) -> None:
            pass

    listener = Listener()
    gleg.solve(heat(accuracy=1e-2), listener=listener)
    names = [name for name, _ in listener.stages]
    assert names.count("space") == 1 and names[-1] == "estimate" and names[0] == "choose"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"accuracy": 0}, "accuracy"),
        ({"accuracy": 2}, "accuracy"),
        ({"basis": {"kind": "fourier", "K": "automatic"}}, "K"),
    ],
)
def test_mistakes_are_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load_problem(heat(**keys))
