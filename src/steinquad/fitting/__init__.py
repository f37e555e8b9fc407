"""What several methods share: units, coordinates, Gaussian processes, ensembles, jumps."""
