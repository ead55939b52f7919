#!/bin/sh
# `make demo`: the life of a project from the command line, in a scratch repository that is removed at the end.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
export HOME="$scratch" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
unset SOW_ROOT SOW_TASK SOW_AGENT XDG_STATE_HOME XDG_CONFIG_HOME GIT_DIR GIT_WORK_TREE || true

bold='' cyan='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') cyan=$(printf '\033[36m') plain=$(printf '\033[0m'); fi
title() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }
run() {
    printf '%s$' "$cyan"
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=@-]*|'') printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '%s\n' "$plain"
    "$@"
}

mkdir "$scratch/shop" && cd "$scratch/shop"
git init -q -b main && git commit -q --allow-empty -m 'A shop'

title 'A project lives on a feature branch'
run git switch -q -c feat/login
run sow init --project 'Add a login' --description 'Users sign in with an e-mail address and a password.'

title 'Tasks have ids with gaps, dependencies and criteria'
run sow task create --name 'Store users' --agent implementer --criterion 'a password is never stored in plain text'
run sow task create --name 'Login form' --agent implementer --depends-on 010
run sow task create --name 'Hash passwords' --agent implementer --after 010

title 'A worker starts, works and logs'
run sow task set --id 010 status in_progress
mkdir src && echo 'users = {}' > src/users.py
run sow log --task 010 --file src/users.py --action created_file --result success 'Added the user store'

title 'It is not sure of something: an open note keeps it from saying "done"'
run sow note add --task 010 --category requirements --description 'Is an e-mail address unique?' --context 'Writing the user store'
run sow task set --id 010 status needs_review || echo "(exit $?)"
run sow note escalate 1 --task 010 --reason 'Only the product owner knows'
run sow task set --id 010 status paused

title 'The question waits for a person, who answers it'
run sow inbox
run sow answer 1 'Yes, unique, whatever its case'

title 'The worker goes on (iteration 2), hands in, and is approved'
run sow agent log --action modified_file --result success 'E-mail addresses are compared in lower case'
run sow task set --id 010 status needs_review
run sow approve 010

title 'Anybody can go on from here, with no history at all'
run sow status
run sow task show 010

title 'An agent does the next task: here the simulated one, which needs no account'
export SOW_AGENTS_IMPLEMENTER=simulated
run sow agent spawn implementer 011
run sow agent resume 011 'Say which algorithm, and why'
run sow approve 011

title 'The state is committed on its branch, and leaves it before the merge'
run sow project save
run sow check || echo "(exit $?)"
run sow cleanup --yes
run sow check
