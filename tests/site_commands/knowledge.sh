# Guides, linked repositories and decisions. These addresses lead to repositories on this machine.
cat > ~/.gitconfig <<'END'
[url "/srv/"]
    insteadOf = git@github.com:
    insteadOf = https://github.com/
    insteadOf = https://example.org/
[protocol "file"]
    allow = always
END
make() {
    mkdir -p "$1" && git -C "$1" init -q -b main && cd "$1"
    for each in python-style python api login deploy docs; do
        mkdir -p $each && printf '# About %s\n\nHow to do it.\n' $each > $each/pagination.md && cp $each/pagination.md $each/tokens.md
        cp $each/tokens.md $each/api.md
    done
    echo "# Payments" > README.md
    git add -A && git commit -q -m "First words" && git tag v1 && git tag v2
    git commit -q --allow-empty -m "More words" && git tag v3
    cd - >/dev/null
}
for each in /srv/company/style-guides.git /srv/guides.git /srv/company/auth-service.git /srv/example/guides ../guides ../payments ../backend; do
    make $each
done
sow init
sow sinks install git@github.com:company/style-guides.git python-style/
sow sinks install https://example.org/guides.git api --ref v2
sow sinks install https://github.com/example/guides python
sow sinks install ../guides deploy --name how-we-ship
sow sinks install
sow sinks list
sow sinks show api
sow sinks show python
sow sinks update --check
sow sinks update
sow sinks update api --ref v3
sow sinks describe api --summary 'Rules for our REST interfaces' --when 'A new endpoint' --tag rest
sow sinks describe api --hint 'pagination.md: A list is too long or loads too slowly'
sow sinks describe python --when "The task writes Python"
sow sinks remove api
sow sinks remove python
sow repos add git@github.com:company/auth-service.git --purpose 'Issues our tokens' --hint 'docs/tokens.md: how they are made'
sow repos add ../payments
sow repos add ../payments --clone --name payments-v1 --ref v1
sow repos add ../backend --purpose "The API that our pages call"
sow repos list
sow repos show backend
sow repos update --check
sow repos update
sow repos describe auth-service --purpose 'Issues and revokes our tokens' --tag auth
sow repos describe backend --hint "docs/api.md: the REST interface"
sow repos remove auth-service
sow repos remove backend
mkdir docs && echo "# The API" > docs/api.md && sed -i 's,".sow/knowledge/designs",docs,' .sow/config.yaml
git add -A && git commit -q -m 'The API'
cat > ~/../bin/describes <<'END'
#!/usr/bin/env python3
import json, re, sys
prompt = sys.stdin.read()
nonce = re.search(r'"nonce": (\S+)', prompt).group(1)
documents = {path: f"Needed for {path}" for path in re.findall(r"^[|] === (.+)$", prompt, re.MULTILINE)}
print(json.dumps({"nonce": nonce, "summary": "Ours", "when_to_use": "Always", "tags": [], "documents": documents}))
END
chmod +x ~/../bin/describes
cat > ~/.config/sow/config.yaml <<END
agents:
  default: describes
  executors:
    describes: {type: command, settings: {command: [$(cd ~/../bin && pwd)/describes], allow_empty: true}}
    codex: {type: command, settings: {command: [$(cd ~/../bin && pwd)/describes], allow_empty: true}}
END
sow context describe
git checkout -q docs
sow context describe docs/api.md --executor codex
git switch -q -c feat/login
sow init --project "Rotate refresh tokens"
sow task create --name "Rotate refresh tokens"
sow context 010 --dry-run
