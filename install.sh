#!/bin/sh
# Installs the `sow` command for your user, with uv or pipx, whichever is there.
#
#   ./install.sh .                         from a clone
#   ./install.sh sow-1.0.0-py3-none-any.whl   a wheel: a file or an address
#   curl -fsSL ADDRESS/install.sh | sh -s -- ADDRESS/WHEEL
#
# Without an argument it installs the published package. SOW_INSTALLER=uv or pipx chooses the program.
# The same call again installs the new version over the old one.
set -eu

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

main() {
    package=${1:-sow}
    case $package in
    -h | --help)
        echo 'Usage: install.sh [FOLDER | WHEEL | ADDRESS]'
        return
        ;;
    esac
    command -v git >/dev/null || fail 'git is not installed' 'install git, and run this script again'

    installer=${SOW_INSTALLER:-}
    if [ -z "$installer" ]; then
        for each in uv pipx; do
            if [ -z "$installer" ] && command -v "$each" >/dev/null; then installer=$each; fi
        done
    fi
    case $installer in
    uv)
        # --from is needed for a path; --reinstall because a wheel of the same version may have changed.
        uv tool install --quiet --force --reinstall --python '>=3.11' --from "$package" sow ||
            fail 'uv could not install sow' "see the message above, or try: SOW_INSTALLER=pipx $0 $package"
        bin=$(uv tool dir --bin)
        path_command='uv tool update-shell'
        ;;
    pipx)
        pipx install --quiet --force "$package" ||
            fail 'pipx could not install sow' 'see the message above; sow needs Python 3.11 or newer (pipx install --python)'
        bin=$(pipx environment --value PIPX_BIN_DIR)
        path_command='pipx ensurepath'
        ;;
    '')
        fail 'neither uv nor pipx is installed' \
            'install one of them (https://docs.astral.sh/uv or https://pipx.pypa.io), and run this script again'
        ;;
    *) fail "SOW_INSTALLER is $installer" 'use uv or pipx' ;;
    esac

    echo "installed $("$bin/sow" --version) in $bin"
    case ":$PATH:" in
    *":$bin:"*) echo 'next: sow doctor' ;;
    *) echo "next: $path_command, open a new shell, and type: sow doctor" ;;
    esac
}

# The last line calls the rest, so that a download that breaks off does nothing.
main "$@"
