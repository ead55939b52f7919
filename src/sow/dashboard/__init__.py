"""The dashboard: a web server on loopback, its access checks, and the data that its pages show."""
