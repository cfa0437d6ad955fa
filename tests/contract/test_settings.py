"""The suite covers every public classifier."""

from contract.settings import SETTINGS, public_classifiers


def test_every_public_classifier_has_a_setting() -> None:
    assert {kind.__name__ for kind in public_classifiers()} == {kind.__name__ for kind in SETTINGS}


def test_every_setting_is_of_its_class() -> None:
    for kind, settings in SETTINGS.items():
        for setting in settings.values():
            assert isinstance(setting.model, kind) or kind.__name__ == "ConditionalTable"
