#!/bin/sh
# Ends the command named by the first argument. More arguments go to kill.
set -eu

name=$1
shift
process=$(tilt get cmd -o 'jsonpath={.status.running.pid}' -- "$name")
if [ -z "$process" ]; then
    echo "$name does not run." >&2
    exit 1
fi
kill "$@" "$process"
