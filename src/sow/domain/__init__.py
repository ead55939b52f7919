"""The rules, pure: no file, clock, random number, environment or process."""
