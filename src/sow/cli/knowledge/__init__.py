"""Commands about sinks and linked repositories."""
