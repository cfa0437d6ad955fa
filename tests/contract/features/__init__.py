"""Laws on features: their names, values, order and directions."""
