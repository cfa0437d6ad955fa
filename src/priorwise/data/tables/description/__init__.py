"""What is known of the columns of a table: kinds, shares of missing values, ranges."""
