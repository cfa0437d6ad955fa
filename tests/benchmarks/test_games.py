import pytest
from benchmarks.problems.games import make_balance_scale, make_monks, make_tic_tac_toe


def test_tic_tac_toe_has_the_known_boards():
    X, y = make_tic_tac_toe()
    assert X.shape == (958, 9)
    assert len({tuple(row) for row in X}) == 958
    assert (y == "positive").sum() == 626
    moves = (X == "x").sum(axis=1) - (X == "o").sum(axis=1)
    assert set(moves) == {0, 1}


def test_balance_scale_and_monks_are_whole_spaces_with_known_class_counts():
    X, y = make_balance_scale()
    assert len({tuple(row) for row in X}) == 625
    assert [(y == side).sum() for side in "LBR"] == [288, 49, 288]
    assert y[(X == [5, 5, 1, 1]).all(axis=1)].tolist() == ["L"]
    for problem, n_members in ((1, 216), (2, 142), (3, 228)):
        X, y = make_monks(problem)
        assert len({tuple(row) for row in X}) == 432
        assert (y == "1").sum() == n_members
    with pytest.raises(ValueError, match="problem must be 1, 2 or 3, got 4"):
        make_monks(4)
