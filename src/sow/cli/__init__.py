"""Contains the command line interface; one module per command group, imported only when it is used."""
