"""The page of the numbers that the flagship is planned by."""

from write_pool_numbers import PAGE, write_page


def test_the_page_has_the_numbers_of_the_plan() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page()
