"""Commands that run plans and show runs."""
