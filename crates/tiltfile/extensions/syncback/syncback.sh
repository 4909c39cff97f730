#!/bin/sh
# syncback.sh OBJECT RSYNC SOURCE TARGET FLAGS…: brings SOURCE of a container to TARGET of this machine with rsync.
# OBJECT is what kubectl exec takes, with its -c and -n.
set -eu

SYNCBACK_OBJECT=$1
export SYNCBACK_OBJECT
remote_rsync=$2
source=$3
target=$4
shift 4

version=$(rsync --version 2>/dev/null | sed -n '1s/.*version v\{0,1\}\([0-9]*\)\..*/\1/p') || true
if [ "${version:-0}" -lt 3 ]; then
    echo "syncback needs rsync 3.0.0 or newer on this machine. Install it with the system's package manager." >&2
    exit 1
fi

# Split into words on purpose: the object comes with its flags.
in_container() {
    # shellcheck disable=SC2086
    kubectl exec -i $SYNCBACK_OBJECT -- "$@"
}

for candidate in rsync "$remote_rsync"; do
    if in_container "$candidate" --version </dev/null 2>/dev/null | grep -q 'version v\{0,1\}[3-9]'; then
        exec rsync --rsync-path="$candidate" --blocking-io --rsh="sh '$(dirname "$0")/remote_shell.sh'" "$@" \
            "container:$source" "$target"
    fi
done

# Without an rsync on the other side all files come as an archive, and rsync takes them from there.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' HUP INT TERM
echo "The container has no rsync: copying all of $source." >&2
in_container tar -C "$source" -cf - . </dev/null >"$folder/archive"
mkdir "$folder/files"
tar -C "$folder/files" -xf "$folder/archive"
rsync "$@" "$folder/files/" "$target"
