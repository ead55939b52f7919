#!/bin/sh
# A workflow from its first file to its archive, with simulated agents: no account, no network, nothing of yours is touched.
#   sh examples/workflow-user-management/run.sh [FOLDER]     FOLDER is new or empty; without: a temporary one
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sow=${SOW:-sow}
folder=${1:-$(mktemp -d "${TMPDIR:-/tmp}/sow-workflow-XXXXXX")}
mkdir -p "$folder/repo" "$folder/home/.config/sow"
folder=$(cd "$folder" && pwd)
unset SOW_TASK SOW_AGENT SOW_ROOT SOW_DESK SOW_RUN XDG_CONFIG_HOME XDG_STATE_HOME || true
export HOME="$folder/home" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org

sed "s|EXAMPLE|$here|g" "$here/scenario.yaml" > "$folder/scenario.yaml"
# The simulated architect copies the design from the example, which may lie in a folder that its sandbox hides.
cat > "$HOME/.config/sow/config.yaml" <<CONFIG
sandbox: {read: ["$here"]}
agents:
  executors:
    rehearsal:
      type: simulated
      settings: {scenario: "$folder/scenario.yaml"}
CONFIG
cd "$folder/repo"
git init -q -b main && git commit -q --allow-empty -m "An empty shop" && git switch -q -c feat/users

show() {
  printf '\n$ sow'
  for word in "$@"; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done
  printf '\n'
}
step() { show "$@"; "$sow" "$@"; }
waits() { show "$@"; code=0; "$sow" "$@" || code=$?; [ "$code" = 4 ] || exit "$code"; }

step workflow new user_management --summary "$here/summary.md"
step workflow design --headless --executor rehearsal
step workflow verify --executor rehearsal
step workflow approve
waits workflow run --executor rehearsal   # stops with exit 4: an agent asks something that only a person knows
step inbox
step answer w1 "No. Ada@ and ada@ are the same address."
waits workflow run --executor rehearsal   # stops again: the same question three times is a loop
step inbox
step answer w2 "Offer to sign in, or to reset the password."
step workflow run --executor rehearsal
step workflow status
step workflow archive
printf '\nLook at %s\n' "$folder/repo"
