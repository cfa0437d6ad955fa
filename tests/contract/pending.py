"""Laws that some settings do not obey yet, by the name of the test."""

PENDING: dict[str, list[str]] = {
    "test_a_failed_call_changes_nothing": ["ConditionalTable"],
    "test_a_fit_with_a_bad_parameter_changes_nothing": ["ESKDB"],
    "test_new_names_in_the_same_order_change_no_bit": ["LogLinearPool foreign members"],
    "test_the_order_of_columns_does_not_matter": ["SuperParent accuracy"],
}
