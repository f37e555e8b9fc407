"""The paper: its tables and figures as data, their runs and records, and truths computed again."""
