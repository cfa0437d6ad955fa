"""Tables and queries of a database, counted where they are."""
