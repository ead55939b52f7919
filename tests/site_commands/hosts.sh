# Other machines: over ssh, and with a Temporal server. The stand-in for ssh starts programs in another home folder.
cat > ~/../bin/ssh <<END
#!/bin/sh
while :; do case \$1 in -o | -L) shift 2 ;; -*) shift ;; *) break ;; esac; done
cd "/srv/hosts/\$1" || exit 255
shift
exec env HOME="\$PWD" sh -c "\$*"
END
chmod +x ~/../bin/ssh
cat > ~/.config/sow/config.yaml <<'END'
agents:
  default: codex
  executors:
    codex: {type: simulated}
    claude-code: {type: simulated}
END
for each in box-a box-b box-c; do
    mkdir -p /srv/hosts/$each/.config/sow
    echo "export PATH='$PATH'" > /srv/hosts/$each/.profile
    cp ~/.config/sow/config.yaml /srv/hosts/$each/.config/sow
done
cat > plan.md <<'END'
# Help pages

## Task 1: Write the first page
Say what the program is for.

## Task 2: Write the index
Link every page.
END
git add plan.md && git commit -q -m "The plan"
again() {  # in a new repository with the same plan
    cd .. && git clone -q -b main shop "$1" && cd "$1"
}
ssh box-a 'sh -lc "sow --version"'
again ssh
sow run plan.md --on box-a:2,box-b:1

sow cluster dev --port 7400 --transfer /srv/sow.git &
until_is test -d /srv/sow.git/objects
ended $!
sow cluster dev &
until_is python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7233))'
ended $!
sow cluster dev --transfer /srv/turns.git &
until_is python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7233))'
sow config set cluster.address 127.0.0.1:7233
sow config set cluster.transfer /srv/turns.git
box() {
    HOME=/srv/hosts/box-a "$@"
}
box sow config set cluster.address 127.0.0.1:7233
box sow config set cluster.transfer /srv/turns.git
box sow config set host.capacity.claude-code 2@team
box sow config set host.capacity.codex 1
box sow host serve --capacity claude-code=2@team,codex=1 &
until_is sh -c 'sow host list | grep -q codex'
HOME=/srv/hosts/box-b
export HOME
sow config set cluster.address 127.0.0.1:7233
sow config set cluster.transfer /srv/turns.git
sow host serve &
until_is sow cluster status
cp ~/.config/sow/config.yaml /srv/hosts/box-c/.config/sow
HOME=/srv/hosts/box-c sow host serve --checks 2 &
HOME=$(cd ../home && pwd)
export HOME
sow cluster status
sow host list
again temporal
sow run plan.md --cluster
again address
sow run plan.md --cluster=127.0.0.1:7233
sow cluster prune --older-than 7d
