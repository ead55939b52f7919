# Questions of a run, and work that a person accepts against a check.
cat > ~/../bin/fails <<'END'
#!/bin/sh
echo "1 failed"
exit 1
END
chmod +x ~/../bin/fails
cp ~/../bin/fails ~/../bin/pytest && cp ~/../bin/fails ~/../bin/npm
cat > ~/asks.yaml <<'END'
tasks:
  default:
    - - ask: "{task}: which one do we use?"
    - - write: {path: "{task}.md", text: "Done.\n"}
      - status: needs_review
END
cat > ~/.config/sow/config.yaml <<'END'
agents:
  default: simulated
  executors:
    asks: {type: simulated, settings: {scenario: ~/asks.yaml}}
  bindings: {implementer: asks}
checks: {allow: ["*"]}
END
sed -i "s|~/asks|$HOME/asks|" ~/.config/sow/config.yaml
cat > plan.md <<'END'
# Sign in

## Task 1: Store users
Store them.

## Task 2: Hash passwords
Hash them.

## Task 3: Sign tokens
Sign them.
END
git add plan.md && git commit -q -m "The plan"
again() {  # in a new repository with the same plan
    cd .. && git clone -q shop "$1" && cd "$1" && exits 4 sow run plan.md --max-concurrency 1
}
git branch feat/one
again first
sow inbox
sow answer 1 "Use PostgreSQL"
sow answer 3 "Use RS256"
sow answer 2 yes
sow run plan.md
again second
sow answer 1 "Use PostgreSQL" --always
sow answer 3 "Use RS256" --always
sow answers
sow answers forget 1
again third
sow answer 1 "Twelve characters, no other rule"

# A check that fails, which a person waives, or for which the worker gets comments.
cd ../shop
mkdir src && printf '%s\n' $(seq 50) > src/auth.py && git add src
cat > ~/asks.yaml <<'END'
tasks:
  default:
    - - if: {run: 'test "$SOW_TASK" = 010', then: [{append: {path: src/auth.py, text: "{turn}\n"}}], else: [{write: {path: tokens.md, text: "{turn}\n"}}]}
      - status: needs_review
END
cat > plan.md <<'END'
# Sign in

## Task 1: Store users
**Test Commands**:
- npm run lint

Store them.

## Task 3: Sign tokens
**Test Commands**:
- pytest -q

Sign them.
END
git add plan.md && git commit -q -m "Another plan"
again() {  # in a new repository with the same plan
    cd .. && git clone -q shop "$1" && cd "$1" && exits 4 sow run plan.md --retries 0 --max-concurrency 1
}
again fourth
sow feedback add 010 --at src/auth.py:12 "Compare in constant time" --at src/auth.py:40 "Log no password"
sow approve 010 --waive "npm run lint" --reason "The linter is broken on main"
sow approve 030 --waive "pytest -q" --reason "flaky on this machine"
sow run plan.md
