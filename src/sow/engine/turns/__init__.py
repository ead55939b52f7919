"""Runs one turn of an agent: prompt, process, transcript, settlement and recovery."""
