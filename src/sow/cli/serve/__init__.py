"""Commands that serve: dashboard, MCP and demo."""
