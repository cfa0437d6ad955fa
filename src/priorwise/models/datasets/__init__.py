"""Learning from sources of data, and predicting their rows."""
