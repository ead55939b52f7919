#!/usr/bin/env bash
# Runs a command in a copy of this checkout, as a user who exists only for it. Without root it just runs the command.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    exec "$@"
fi
user=sow-test-$$
home=/home/$user
useradd --create-home --home-dir "$home" --shell /bin/sh "$user"

clean() {
    local pid
    for pid in $(ps -u "$user" -o pid=); do kill -9 "$pid" 2>/dev/null || true; done
    rm -rf "/dev/shm/pytest-of-$user" "/tmp/pytest-of-$user"
    userdel --remove "$user" >/dev/null 2>&1
}
trap clean EXIT

mkdir "$home/sow" "$home/python"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar --extract --directory "$home/sow"
tar --create --exclude='mypy*' --exclude='ruff*' --exclude=playwright .venv | tar --extract --directory "$home/sow"
# The programs in a virtual environment name its path.
grep -rlIF "$PWD" "$home/sow/.venv/bin" "$home/sow/.venv/lib"/python*/site-packages/*.pth | xargs sed -i "s|$PWD|$home/sow|g"
touch "$home/sow/.venv/.runtime" "$home/sow/.venv/.ready"
chown -R "$user:" "$home"

start=()
python=$(readlink -f .venv/bin/python)
if ! runuser -u "$user" -- test -x "$python"; then
    # Python lies in a folder that only root can read: the command sees a machine in which everybody can.
    start=(unshare --mount bash -c '
        mount --bind "$1" "$2"
        mount -t tmpfs -o mode=755 none "$HOME"
        mkdir -p "$1"
        mount --bind "$2" "$1"
        shift 2
        exec "$@"' bash "$(dirname "$(dirname "$python")")" "$home/python")
fi
cd "$home/sow"
"${start[@]}" runuser -u "$user" -- env -i "HOME=$home" "USER=$user" "LOGNAME=$user" "PATH=$PATH" \
    "LANG=${LANG:-C.UTF-8}" "RERUNS=${RERUNS:-}" "$@"
