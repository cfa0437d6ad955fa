"""Steps laid out as plain arrays, from which all exports are written."""
