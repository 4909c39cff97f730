#!/bin/sh
# forward.sh KUBEFWD KUBECONFIG WISH: runs kubefwd for the namespaces in WISH, anew whenever the file changes, until it
# is gone. Needs the rights to change /etc/hosts.
set -eu

kubefwd=$1
KUBECONFIG=$2
export KUBECONFIG
wish=$3
running=

stop() {
    if [ -n "$running" ]; then
        kill "$running" 2>/dev/null || true
        wait "$running" 2>/dev/null || true
        running=
    fi
}
trap stop EXIT
trap 'exit 143' HUP INT TERM

seen=
while [ -e "$wish" ]; do
    now=$(ls -ln --time-style=full-iso "$wish" 2>/dev/null || ls -lnT "$wish")
    if [ "$now" != "$seen" ]; then
        seen=$now
        stop
        set -- svc
        while read -r namespace; do
            [ -z "$namespace" ] || set -- "$@" -n "$namespace"
        done <"$wish"
        if [ $# = 1 ]; then
            echo 'There is no namespace to forward yet.'
        else
            echo "+ $kubefwd $*"
            "$kubefwd" "$@" &
            running=$!
        fi
    fi
    sleep 1
done
