#!/bin/sh
# What rsync takes for ssh: a host, which has no meaning here, then the command.
shift
# shellcheck disable=SC2086
exec kubectl exec -i $SYNCBACK_OBJECT -- "$@"
