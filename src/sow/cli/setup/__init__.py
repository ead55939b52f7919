"""Commands that configure and check the installation."""
