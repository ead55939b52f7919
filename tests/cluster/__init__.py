"""Tests of turns on other hosts."""
