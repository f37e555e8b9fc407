"""What is held against an answer: folds, held-out residuals, standard errors, identities."""
