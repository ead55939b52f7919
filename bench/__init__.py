"""Benchmarks: ratios against bare Python in the same run, since machines differ and are shared."""
