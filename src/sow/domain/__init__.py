"""The rules of sow as pure functions: no file, clock, random number, environment or process."""
