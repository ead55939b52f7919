# Settings, roles and everything else that needs no project.
for each in security-reviewer; do
    sow agent new $each --description "Looks for holes" --prompt "Review it"
    mkdir -p ~/.claude/agents && mv .claude/agents/$each.md ~/.claude/agents
done
sow config init
sow config path
sow config validate
sow config show
sow config get agents.default
sow config get limits
sow config set agents.default codex
sow config set agents.implementer codex
sow config set agents.implementer cursor
sow config unset agents.implementer
sow config set executors.claude-code.settings.model opus
sow config set agents.executors.claude-code.settings.model opus
sow config set agents.executors.claude-code.settings.yolo_mode true
sow config set agents.executors.claude-code.custom_args -- --allowedTools "Bash(npm:*)"
sow config set executors.cursor.custom_args -- --fast
sow config set agents.fallbacks.implementer codex
sow config set agents.fallbacks.implementer codex gemini
sow config set budgets.run_usd null
sow config set review.agents quality-control security-reviewer
sow config set deliver.bots '["review-bot[bot]"]'
sow config set cluster.address 127.0.0.1:7233
sow config set cluster.address temporal.example.org:7233
sow config set cluster.tls_ca ~/.config/sow/ca.pem
sow config set cluster.tls_cert ~/.config/sow/ada.pem
sow config set cluster.tls_key ~/.config/sow/ada.key
sow config set cluster.transfer ssh://git@home/srv/turns.git
sow config set cluster.sign ~/.ssh/id_ed25519
sow config set host.signers ~/.config/sow/signers
sow config validate
EDITOR=true
export EDITOR
sow config edit
typed y sow config reset
sow doctor
sow init
sow agent new database-specialist --description "Writes migrations and tunes queries"
sow agent list
sow agent show implementer
sow agent validate
sow install claude --dry-run
sow install claude --user --dry-run
sow install claude
sow uninstall claude
sow mcp </dev/null
sow mcp --list
sow completion bash
sow version --schema
sow hook settings
sow prompt --list
sow prompt guidance/implementer/base
sow schema list
sow schema show task
sow schema diff v1.0.0 v1.1.0
sow turn offers
sow demo
sow demo --keep /tmp/shop-demo
