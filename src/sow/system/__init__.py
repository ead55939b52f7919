"""The only room that meets the outside: processes, git, clock, terminal, environment."""
