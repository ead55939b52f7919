# Workers that a person starts, one at a time.
git switch -q -c feat/login
sow init --project "Add a login"
sow task create --name "Store users"
sow task create --name "Login form"
sow config set agents.default simulated
sow agent spawn implementer 010
sow agent resume 010 "Use RS256"
sow agent resume 010 "Use bcrypt, not SHA-256"
sow feedback add 010 "Name the file after the form"
sow approve 010
git add -A && git commit -q -m "Store users"
cat > ~/.config/sow/config.yaml <<'END'
agents:
  default: simulated
  executors:
    codex: {type: simulated}
END
sow agent spawn implementer 020 --executor codex --timeout 30m
sow approve 020
sow task create --name "Log out"
SOW_AGENTS_IMPLEMENTER=simulated sow agent spawn implementer 030
sow inbox
sow approve 030 --reason "good enough for the demo"

# In other repositories: the calls with the id 010.
another() {
    cd .. && mkdir "$1" && cd "$1" && git init -q -b feat/one && git commit -q --allow-empty -m "First commit"
    sow init --project "One task" && sow task create --name "Store users"
}
another second
SOW_AGENTS_IMPLEMENTER=simulated sow agent spawn implementer 010
another third
sow agent spawn implementer 010 --executor codex --timeout 30m
another fourth
cat > ~/slow.yaml <<'END'
tasks:
  default:
    - - sleep: 3
      - status: needs_review
END
SOW_SIMULATED_SCENARIO=~/slow.yaml sow agent spawn implementer 010 &
until_is grep -q session_id .sow/project/phases/implementation/tasks/010/state.yaml
sow watch 010
wait

# The orchestrator, which a person opens.
cat > ~/../bin/claude <<'END'
#!/bin/sh
echo "opened: $*"
END
chmod +x ~/../bin/claude
sow config set agents.default claude-code
cd .. && mkdir fifth && cd fifth && git init -q -b main && git commit -q --allow-empty -m "First commit"
sow start "Add a login" --branch feat/login --print
typed - sow start "Add a login"
typed - sow continue
sow continue --print
sow project save && git switch -q main
typed - sow start "Add a login page with sessions"
sow project save && git switch -q main
typed - sow start "Move to PostgreSQL" --branch feat/postgres --phases design,implementation
sow phase add discovery --reason "a race" --now
sow phase approve discovery
sow task create --phase discovery --name "Find the race" --agent researcher
sow agent new swift-dev --description "Writes Swift for the iOS app" --prompt "You write Swift. Follow docs/ios.md."
sow task create --name "Add the settings screen" --agent swift-dev
