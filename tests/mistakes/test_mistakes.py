"""No mistake of a user is silent: an error or a warning names what is wrong."""

import re
import warnings

import pytest

from mistakes.cases import MISTAKES


def test_there_are_a_hundred_mistakes() -> None:
    assert len(MISTAKES) >= 100


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    mistake, words = MISTAKES[name]
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        try:
            mistake()
        except Exception as error:
            messages = [str(error)]
        else:
            messages = [str(warning.message) for warning in record]
    assert messages, "nothing was said"
    assert any(re.search(words, message, flags=re.S) for message in messages), messages
