# Plans: read, checked, imported, and written by the planner.
cp -r "$SITE/examples" .
cat > plan.md <<'END'
# Help pages

## Task 1: Write the first page
Say what the program is for.

## Task 2: Write the index
**Depends on**: 1

Link every page.
END
echo "Add a page that explains the prices" > goal.md
echo "the crane needs paint" > TODO.md
git add -A && git commit -q -m "Plans"
sow plan show examples/user-accounts.md
sow plan validate examples/user-accounts.md
sow plan simulate examples/user-accounts.md --max-concurrency 2
git switch -q -c feat/help
sow init
sow plan import examples/user-accounts.md --dry-run
sow plan show plan.md
sow plan show plan.md --graph mermaid
sow plan validate plan.md
sow plan waves plan.md
sow plan simulate plan.md --max-concurrency 4
sow plan import plan.md --dry-run
sow init --project "Help pages"
sow plan import plan.md
sow plan update
sow config set agents.default simulated
sow plan new "Add a search page"
sow run plans/add-a-search-page.md
sow inbox
sow plan new "Add a page that explains the prices" --executor simulated
sow plan new --from goal.md
grep crane TODO.md | sow plan new -
plan=$(sow plan new "Add a page that explains the prices" --headless) && sow run "$plan" --yes

# The planner asks before it plans.
cd .. && mkdir asks && cd asks && git init -q -b main && git commit -q --allow-empty -m "First commit"
cat > ~/scenario.yaml <<'END'
tasks:
  default:
    - - say: "QUESTION {nonce}: In which currency?"
    - - say: "BEGIN PLAN {nonce}\n# Prices\n\n## Task 1: Write the page\nExplain the prices.\nEND PLAN {nonce}"
END
export SOW_SIMULATED_SCENARIO=~/scenario.yaml
exits 4 sow plan new "Add a page that explains the prices"
sow inbox
sow answer p1 "In euros"
sow plan new "Add a page that explains the prices"
unset SOW_SIMULATED_SCENARIO
git switch -q -c feat/search && sow init --project "Search"
sow task create --name "Plan the search" --agent planner --description "People cannot find the page they need in our help"
sow agent spawn planner 010
