"""Other libraries, one file each, imported only by benchmarks that name them."""
