"""Serves the dashboard: connections, guard, routes, replies and the event feed."""
