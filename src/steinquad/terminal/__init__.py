"""What commands share in a terminal: progress, help in groups, common options."""
