"""The combinations of `cover_pairs`."""

from itertools import combinations, product

from crossings.pairs import cover_pairs, list_pairs

FACTORS = {"a": "123", "b": "1234567", "c": "12", "d": "12345"}


def not_both(row: dict[str, str]) -> bool:
    return not (row.get("a") == "1" and row.get("b") == "2")


def all_pairs(rows: list[dict[str, str]]) -> set:
    return {pair for row in rows for pair in list_pairs(row)}


def test_every_pair_of_values_is_there() -> None:
    rows = cover_pairs(FACTORS)
    expected = sum(len(x) * len(y) for x, y in combinations(FACTORS.values(), 2))
    assert len(all_pairs(rows)) == expected
    # At least one for each pair of the two largest factors, and far from all 210.
    assert 35 <= len(rows) <= 42


def test_combinations_that_are_not_possible_are_left_out() -> None:
    rows = cover_pairs(FACTORS, not_both)
    everything = [dict(zip(FACTORS, row, strict=True)) for row in product(*FACTORS.values())]
    assert all_pairs(rows) == all_pairs([row for row in everything if not_both(row)])
    assert all(map(not_both, rows))


def test_a_pair_that_three_factors_forbid_is_left_out() -> None:
    def is_possible(row: dict[str, str]) -> bool:
        return row.get("a") != "1" or row.get("c") is None or row["c"] == row.get("d", row["c"])

    rows = cover_pairs({"a": "12", "c": "34", "d": "45"}, is_possible)
    # a=1 allows c=4 with d=4 alone.
    assert {(row["c"], row["d"]) for row in rows if row["a"] == "1"} == {("4", "4")}


def test_the_combinations_are_always_the_same() -> None:
    assert cover_pairs(FACTORS) == cover_pairs(FACTORS)


def test_factors_that_recur_have_few_combinations() -> None:
    rows = cover_pairs(FACTORS, recurring=("a", "c", "d"))
    assert all_pairs(rows) == all_pairs(cover_pairs(FACTORS))
    few, many = (
        {(row["a"], row["c"], row["d"]) for row in some} for some in (rows, cover_pairs(FACTORS))
    )
    assert len(few) < len(many)
