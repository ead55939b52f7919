# From a goal or an issue to a merged request, with the real gh and a forge on this machine.
mkdir ~/forge
PYTHONPATH=$SITE/tests python3 "$SITE/tests/site_commands/forge.py" ~/forge &
until_is test -f ~/forge/variables
. ~/forge/variables
cat > ~/.config/sow/config.yaml <<'END'
agents:
  default: simulated
  executors:
    works: {type: simulated, settings: {scenario: HOME/works.yaml}}
  bindings: {implementer: works}
END
sed -i "s|HOME|$HOME|" ~/.config/sow/config.yaml
cat > ~/works.yaml <<'END'
tasks:
  default:
    - - run: cp /proc/sys/kernel/random/uuid work-{task}.txt
      - status: needs_review
END
git remote add origin "$FORGE"
git push -q origin main
begin() {  # a run in a new clone
    cd .. && git clone -q "$FORGE" "$1" && cd "$1"
    sow plan new "$1"
    sow run plans/*.md
}
begin one
sow deliver
sow deliver --watch --merge
cd .. && git clone -q "$FORGE" goal && cd goal
sow plan new "Add a search page"
sow run plans/add-a-search-page.md
sow deliver --watch --merge=squash
begin three
sow deliver
touch ~/forge/merging
sow deliver watch --max-wait 2h
begin four
sow deliver --watch

rm ~/forge/merging
begin two
git push -q origin main:release
sow deliver --base release --draft

# Issues.
cd .. && git clone -q "$FORGE" issues && cd issues
sow plan new --issue 12
sow plan new --issue 12 --headless
sow run --issue 12,15
git switch -q main && git switch -q -c feat/labels
sow plan import --label sow
