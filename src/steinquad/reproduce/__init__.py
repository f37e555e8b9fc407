"""Truths of problems without a closed form, computed anew."""
