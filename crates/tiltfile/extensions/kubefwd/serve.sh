#!/bin/sh
# serve.sh WISH: runs kubefwd with the rights it needs, for the namespaces that stand in the file WISH.
set -eu

wish=$1
folder=$(cd "$(dirname "$0")" && pwd)
kubefwd=$(command -v kubefwd) || {
    echo 'kubefwd is not installed. See https://kubefwd.com' >&2
    exit 1
}
config=${KUBECONFIG:-$HOME/.kube/config}

: >>"$wish"
sh "$folder/namespaces.sh" "$wish" &
watcher=$!
# forward.sh may run as another user, where no signal of ours reaches it: it ends when the file is gone.
trap 'kill "$watcher" 2>/dev/null || true; wait "$watcher" 2>/dev/null || true; rm -f "$wish"' EXIT
trap 'exit 143' HUP INT TERM

set -- sh "$folder/forward.sh" "$kubefwd" "$config" "$wish"
if [ "$(id -u)" = 0 ]; then
    "$@"
elif sudo -n true 2>/dev/null; then
    sudo -n "$@"
elif command -v osascript >/dev/null; then
    osascript -e 'on run words' -e 'set line to ""' \
        -e 'repeat with word in words' -e 'set line to line & quoted form of word & " "' -e 'end repeat' \
        -e 'do shell script line with administrator privileges' -e 'end run' "$@"
elif command -v pkexec >/dev/null; then
    pkexec --disable-internal-agent "$@"
else
    echo 'kubefwd needs the rights of root, and neither sudo without a password, osascript nor pkexec is there.' >&2
    exit 1
fi
