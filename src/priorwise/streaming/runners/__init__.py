"""What runs passes: the threads of this process, or the workers of a Dask cluster."""
