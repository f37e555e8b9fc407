"""More rows than memory: a fit to some of those in files, corrected by all others in one pass."""
