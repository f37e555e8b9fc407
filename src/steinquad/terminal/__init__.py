"""What commands show in a terminal: progress, and help in groups."""
