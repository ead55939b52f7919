"""Tests of the dashboard in a real browser, with a real run and a real server, without other network traffic."""
