"""Tables and queries of a database, read in batches."""
