"""The only package that uses the outside: processes, git, clock, terminal, environment."""
