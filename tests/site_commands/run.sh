# A run from its plan to its report, and what a person does with its results.
cat > ~/.config/sow/config.yaml <<'END'
agents:
  default: simulated
  executors:
    codex: {type: simulated}
END
cat > plan.md <<'END'
# Help pages

## Task 1: Write the first page
**Test Commands**:
- test -f simulated/010.md

Say what the program is for.

## Task 2: Write the index
**Depends on**: 1
**Test Commands**:
- test -s simulated/020.md

Link every page.

## Task 3: Write the contact page
Say whom to ask.
END
git add plan.md && git commit -q -m "The plan"
again() {  # in a new repository with the same plan
    cd .. && git clone -q -b main shop "$1" && cd "$1"
}
git branch feat/one
sow doctor
sow plan validate plan.md
sow run plan.md --dry-run
exits 4 sow run plan.md
sow run plan.md --yes --json > run.jsonl
sow consent list
sow status
sow run plan.md
sow watch
sow watch last --json
sow runs list
sow runs show
sow runs report --format md
sow runs report --format html --out run.html
sow runs report --format html --out report.html
sow runs verify
sow runs verify last --task 010
sow revert 020 --reason "The login page fails on Safari"
sow run plan.md --task 2
sow revert 020 --reason "breaks the login of old clients"
sow run plan.md
sow integrate --dry-run
sow integrate
sow doctor --undo-git-changes
sow doctor --keep-git-changes
sow salvage
sow salvage list --json
run=$(sow runs list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["id"])')
commit=$(sow salvage list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["kept"][0]["commit"][:7])')
with RUN=$run sow salvage restore RUN/010/1
with 3f2a91c=$commit sow salvage restore 3f2a91c --branch salvaged/login
typed y sow salvage prune --older-than 30d
sow consent forget 2
sow consent forget --refused
sow cleanup

again more && sow config set checks.allow '*'
sow run plan.md --max-concurrency 4 --max-cost 5
again one
sow run plan.md --executor codex --task 3

# The dashboard.
sow ui --port 8000 --read-only &
sow ui --open &
sow ui &
until_is python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))'

# Over ssh, and stopped.
mkdir -p /srv/hosts/build-host && git clone -q -b main ~/../shop /srv/hosts/build-host/shop
cat > ~/../bin/ssh <<'END'
#!/bin/sh
while :; do case $1 in -o | -L) shift 2 ;; -*) shift ;; *) break ;; esac; done
cd "/srv/hosts/$1" && shift && exec sh -c "$*"
END
chmod +x ~/../bin/ssh
ssh -L 7690:127.0.0.1:7690 build-host 'cd shop && sow ui' &
cat > ~/asks.yaml <<'END'
tasks:
  default:
    - - ask: Shall it be long?
    - - status: needs_review
END
cat > ~/slow.yaml <<'END'
tasks:
  default:
    - - sleep: 60
END
(
    cd /srv/hosts/build-host
    cd shop && SOW_SIMULATED_SCENARIO=~/asks.yaml exits 4 sow run plan.md --yes
)
ssh build-host 'cd shop && sow inbox'
ssh build-host 'cd shop && sow answer 1 yes'
ssh -t build-host 'cd shop && sow watch'
again slow
SOW_SIMULATED_SCENARIO=~/slow.yaml sow run plan.md --task 3 &
until_is sh -c 'grep -q turn_started .sow/local/runs/*/journal.jsonl'
sow runs stop
