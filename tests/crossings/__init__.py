"""Every kind of column with every model and every way out, in pairs."""
