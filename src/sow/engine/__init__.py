"""Runs turns of agents, and plans and workflows made of them."""
