# A workflow from its summary to its archive.
git switch -q -c feat/users
sow workflow new user_management
rm -r orchestration
cp "$SITE/examples/workflow-user-management/summary.md" .
sed "s|EXAMPLE|$SITE/examples/workflow-user-management|g" "$SITE/examples/workflow-user-management/scenario.yaml" > ~/scenario.yaml
cat > ~/.config/sow/config.yaml <<END
agents:
  default: rehearsal
  executors:
    rehearsal: {type: simulated, settings: {scenario: "$HOME/scenario.yaml"}}
END
sow workflow new user_management --summary summary.md
sow workflow design --headless
sow workflow verify
sow workflow approve
exits 4 sow workflow run
with backend_developer=database_agent exits 2 sow workflow set status working --agent backend_developer
sow inbox
sow answer w1 "No. Ada@ and ada@ are the same address."
exits 4 sow workflow run --max-concurrency 3
sow inbox
sow answer w2 "Offer to sign in, or to reset the password."
sow workflow run
sow workflow status
sow workflow list
sow workflow archive user_management
