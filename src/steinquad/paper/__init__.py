"""The paper: its tables and figures as data, and truths that have no closed form, anew."""
