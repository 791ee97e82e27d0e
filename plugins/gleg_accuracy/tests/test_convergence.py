"""What trials with known errors say about the error of the last one and about the resolution that is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from gleg_accuracy.convergence import Convergence, larger, needed

WANTED = 1e-6


def trials(error: Callable[[int], float], start: Callable[[int], float], sizes: list[int]) -> Convergence:
    """Of solutions whose errors are ``error``; a change is that of the coarser one, to leading order."""
    found = Convergence((sizes[0],), (start(sizes[0]),))
    for before, size in pairwise(sizes):
        found = found.then(size, start(size), error(before))
    return found


def geometric(n: int) -> float:
    return math.exp(-0.5 * n)


def nothing(n: int) -> float:
    """The initial state is represented exactly: it tells nothing."""
    return 0.0


def test_a_single_change_is_the_error_of_the_coarser_trial() -> None:
    assert trials(geometric, nothing, [8, 10]).error == geometric(8)


def test_geometric_errors_are_extrapolated() -> None:
    assert trials(geometric, nothing, [8, 10, 12]).error == pytest.approx(geometric(12))


def test_a_longer_way_is_not_trusted_to_bring_more_than_the_last_one() -> None:
    found = trials(geometric, nothing, [8, 10, 14])
    assert found.error == pytest.approx(geometric(10) * geometric(10) / geometric(8))


def test_errors_that_do_not_fall_are_not_extrapolated() -> None:
    assert trials(lambda n: 0.1, nothing, [8, 10, 13]).error == 0.1


def test_where_the_start_explains_a_change_its_error_gives_the_factor() -> None:
    """Errors that hardly fall until waves are resolved and then fall at once, as those of short waves do: one step suffices."""

    def waves(n: int) -> float:
        return 1e-2 / (1 + math.exp(2 * (n - 24)))

    found = trials(waves, waves, [8, 22, 25])
    assert found.explained
    assert found.error == pytest.approx(waves(25), rel=0.02)
    assert trials(waves, nothing, [8, 22, 25]).error > 5 * waves(25)


def test_where_the_start_explains_nothing_changes_decide() -> None:
    """A smooth initial state from which a front grows."""
    found = trials(geometric, lambda n: 1e-12 * geometric(n), [8, 10, 12])
    assert not found.explained
    assert found.error == pytest.approx(geometric(12))


def test_the_next_trial_goes_as_far_as_the_error_has_to_fall() -> None:
    found = trials(geometric, nothing, [20, 22, 24])
    assert found.next(WANTED) == math.ceil(-2 * math.log(WANTED))
    assert trials(geometric, nothing, [8, 9, 10]).next(WANTED) == larger(10)  # but no farther than this


def test_the_resolution_that_is_needed() -> None:
    exact = -2 * math.log(WANTED)  # 27.6
    assert needed((22, 26), (geometric(22), geometric(26)), WANTED) == math.ceil(exact)
    assert needed((24, 30), (geometric(24), geometric(30)), WANTED) == math.ceil(exact) + 1
    assert needed((8, 10), (geometric(8), geometric(10)), WANTED) is None
    assert needed((8, 10), (0.1, 0.1), WANTED) is None
    assert needed((8, 10), (0.1, 0.0), WANTED) is not None
