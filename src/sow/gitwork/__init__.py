"""Works on git for a run: worktrees, slots, commits, merges and delivery; starts no agent."""
