"""Learning in passes over rows that need not fit in memory; knows no estimator."""
