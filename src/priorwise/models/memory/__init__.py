"""Limits of the memory that a fit takes."""
