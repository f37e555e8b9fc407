"""From the draws of a posterior to better expectations."""
