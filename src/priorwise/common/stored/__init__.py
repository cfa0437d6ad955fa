"""Values, arrays and objects as a file holds them."""
