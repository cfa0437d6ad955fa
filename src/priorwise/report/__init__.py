"""Pages that a browser opens without a network: a report of a model, and a page to explore it."""
