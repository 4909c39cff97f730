#!/bin/sh
# Looks at every command as it comes and goes, and keeps a cancel button for it.
set -eu

folder=$(dirname "$0")
echo 'Resources with a command that can be cancelled have a Cancel button.'
tilt get cmd --watch -o name | while read -r name; do
    sh "$folder/button.sh" "${name#cmd.tilt.dev/}" || echo "The button of $name could not be set." >&2
done
