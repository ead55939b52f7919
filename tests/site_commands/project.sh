# A project, worked on by hand.
git switch -q -c feat/login
sow init
echo "Add a login page" > goal.md
sow project new "Add a login" --description @goal.md
sow project delete --yes
sow init --project "Add a login" --phase design --phase implementation
sow project show
sow project remember "All times are stored in UTC"
sow phase add review --reason "The API needs a security review"
sow phase add documentation --reason "Users must find it"
sow phase move review --before documentation
sow phase approve review
sow phase list
sow phase advance
sow phase back design
sow task create --name "Store users" --test "pytest -q tests/test_users.py"
sow task create --name "Login form" --depends-on 010 --criterion "A wrong password shows an error"
sow task add --name "Store users"
sow status
sow status --json
sow task set 010 agent architect
sow task set 010 agent implementer
sow task set 010 status in_progress
sow note add --task 010 --description "Sessions end after a day" --context "Writing the session store"
sow note list --task 010
sow note resolve 1 --task 010 --resolution "The product owner confirmed one day"
sow note add --task 010 --description "Sessions end after an hour" --context "Reading the second document"
sow note escalate 2 --task 010 --reason "Two documents contradict each other"
sow inbox
sow answer 3 "One day"

sow log --task 010 --action modified_file --file src/users.py --result success "Added the user store"
sow log --list
SOW_TASK=010 sow agent log "Wrote the migration"

sow task set 010 status paused --reason "Which database do we use?"
sow inbox
sow answer 010 "PostgreSQL"
sow task set 010 status needs_review
sow task list --status needs_review
sow task show 010
sow feedback add 010 "Handle an empty password, and add a test for it"
sow feedback list 010
sow validate .sow/project/state.yaml
sow adr new "Use PostgreSQL for sessions"
sow adr list
sow project save
git branch -m feat/sessions
sow project adopt
git branch -m feat/login
sow project adopt
sow task abandon 020 --reason "Task 030 covers it"
exits 1 sow check
sow migrate --dry-run
sow cleanup --yes
git commit -q -m 'Clean up the project' -- :/.sow/project
sow check
sow init --project "More"
sow task create --name "Store users"
sow task set 010 status in_progress
sow note add --task 010 --description "Sessions end after an hour" --context "Reading the second document"
sow note escalate 1 --task 010 --reason "Two documents contradict each other"
sow project save
git clone -q -b feat/login . ../other
(cd ../other && sow task set 010 priority high && sow project save)
sow task set 010 priority low && sow project save
exits 1 git pull -q --no-rebase ../other feat/login
sow project resolve ours
git commit -q --no-edit
sow task abandon 010 --reason "Not now"
sow cleanup --commit
sow check
