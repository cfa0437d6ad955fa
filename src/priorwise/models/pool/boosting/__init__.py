"""Trees that correct what a pool says, and the rows they learn from."""
