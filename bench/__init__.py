"""Measures sow as ratios to bare Python in the same run, since machines differ and are shared."""
