#!/bin/sh
# namespaces.sh WISH: keeps the namespaces that are deployed to in the file WISH, one on each line.
set -eu

wish=$1

note() {
    found=$(tilt get kd -o=jsonpath='{.items[*].spec.watches[*].namespace}')
    # Split into words on purpose.
    # shellcheck disable=SC2086
    wanted=$(printf '%s\n' $found ${TILT_CFG_NAMESPACES:-} | sort -u)
    if [ "$wanted" != "$(cat "$wish")" ]; then
        printf '%s\n' "$wanted" >"$wish"
    fi
}

note
tilt get kd --watch -o name | while read -r _; do
    note
done
