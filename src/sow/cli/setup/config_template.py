"""Holds the commented settings file that `sow config init` writes; unedited, it changes nothing."""

from __future__ import annotations

TEMPLATE = """\
# Sow Agent Configuration
# Location: {location}
#
# This file configures which AI CLI tools handle which agent roles.
# If this file doesn't exist, all agents use Claude Code by default.
#
# Configuration priority:
#   1. Environment variables (SOW_AGENTS_IMPLEMENTER=cursor)
#   2. This config file
#   3. Built-in defaults (Claude Code)
#
# Check it with: sow config validate
# See what is in effect, and why: sow config show

agents:
  executors:
    # Claude Code executor
    # Uncomment and modify to customize Claude Code settings
    # claude-code:
    #   type: "claude"
    #   settings:
    #     yolo_mode: true    # Skip permission prompts
    #     model: "sonnet"    # or "opus", "haiku"
    #   custom_args: []

    # Cursor executor
    # Uncomment to enable Cursor
    # cursor:
    #   type: "cursor"
    #   settings:
    #     yolo_mode: true
    #   custom_args: []

    # Add more executors as needed (windsurf, etc.)
    # Each of these types exists under its own name already, so it can be bound to a role
    # below without being defined here:
    #   cursor, windsurf, codex, gemini, opencode, copilot, qwen, amp, aider, simulated

    # A second executor of one type, with a model and a program of its own
    # claude-opus:
    #   type: "claude"
    #   settings:
    #     model: "opus"
    #     binary: "/opt/claude/bin/claude"

    # A program of yours that reads its prompt from stdin and calls sow
    # my-script:
    #   type: "command"
    #   settings:
    #     command:
    #       - "/home/me/bin/my-agent"
    #       - "--quiet"
    #     env:               # variables that it may see besides the usual ones
    #       - "MY_AGENT_KEY"
    #     allow_empty: true  # a turn that changes nothing is fine

    # A scripted agent that needs no account, to try things out
    # rehearsal:
    #   type: "simulated"
    #   settings:
    #     scenario: "/home/me/scenario.yaml"

  # Bindings: which executor handles which agent role
  # Uncomment and modify to change from defaults
  bindings:
    orchestrator: "claude-code"
    implementer: "claude-code"    # Change to "cursor" to use Cursor for implementation
    architect: "claude-code"
    reviewer: "claude-code"
    planner: "claude-code"
    researcher: "claude-code"
    # integration-tester: "claude-code"
    # documenter: "claude-code"
    # decomposer: "claude-code"
    # quality-control: "claude-code"
    # verifier: "claude-code"
    # integrator: "claude-code"
    # workflow-architect: "claude-code"
    # instruction-writer: "claude-code"
    # file-structure-designer: "claude-code"
    # checkpoint-designer: "claude-code"
    # design-verifier: "claude-code"
    # solution-architect: "claude-code"
    # archivist: "claude-code"

  # Fallbacks: who takes over when a role's executor has reached its limit
  # fallbacks:
  #   implementer:
  #     - "codex"
  #     - "gemini"

# Limits: when a turn is stopped
# limits:
#   turn_timeout: "60m"       # its whole work
#   silence_timeout: "15m"    # no output at all
#   linger_timeout: "10s"     # still there after its last word
#   stop_grace: "5s"          # asked to end, and still there
#   transcript_mb: 256        # the size of its output

# Run: how a plan is run, where the call does not say it
# run:
#   max_concurrency: 3        # tasks at once
#   schedule: "ready"         # or "waves"
#   isolation: "worktree"     # or "none": all in one folder
#   retries: 2                # how often work is sent back
#   max_wait: "6h"            # how long a run waits for a limit to end
#   baseline: "on"            # "off": no check list runs on the base commit first
#   final_checks: "on"        # "off": the final tree is not checked
#   history: "squash"         # "full": keep every commit of the workers

# Review: who reviews the work of a run; of several the strictest wins
# review:
#   enabled: true
#   agents:
#     - "quality-control"

# Budgets: when a run starts nothing new
# budgets:
#   run_usd: 10
#   task_usd: 3
#   run_tokens: 5000000
#   run_time: "8h"
#   run_spawns: 200

# Checks: the commands of a plan
# checks:
#   timeout: "20m"
#   parallel: 2               # check lists that run at the same time
#   env:                      # variables that they may see besides the usual ones
#     - "DATABASE_URL"
#   allow:                    # commands that need no consent; "*" alone allows everything
#     - "pytest*"

# Worktree: how every checkout is set up, instead of the setup that sow finds by itself
# worktree:
#   link:
#     - "node_modules"
#   copy:
#     - ".env.test"
#   setup: [["npm", "ci"]]

# Context: which documents a worker is pointed to when it starts
# context:
#   enabled: true
#   budget: "8k"              # tokens; one is counted as four bytes

# Knowledge: how much is fetched for a sink or a linked repository, and how long that may take
# knowledge:
#   sink_mb: 50
#   repo_mb: 1000
#   timeout: "2m"

# Notify: how you are told that something waits for you, or that a run has ended
# notify:
#   command: ["notify-send", "sow"]   # run without a shell; facts in SOW_EVENT, SOW_RUN, SOW_TASK, SOW_TEXT
#   bell: true                        # the bell of the terminal that a run is in

# Repositories whose own files may define roles that judge (reviewer, verifier)
# trust:
#   - "/home/me/src/my-repository"
"""


def template(location: str) -> str:
    """Returns the text of a new settings file for this path."""
    return TEMPLATE.replace("{location}", location)
