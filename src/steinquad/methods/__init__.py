"""Ways to estimate an expectation, one file each."""
