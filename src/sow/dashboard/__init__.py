"""Views of the store in a browser: a server on loopback, its guard, and the facts that its pages show."""
