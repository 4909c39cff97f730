#!/bin/sh
# Uninstalls the release $RELEASE_NAME if there is one. The arguments are flags for helm.
set -eu

if [ -n "$NAMESPACE" ]; then
    set -- --namespace "$NAMESPACE" "$@"
fi
namespace=${NAMESPACE:+--namespace=$NAMESPACE}
if helm status "$RELEASE_NAME" ${namespace:+"$namespace"} >/dev/null 2>&1; then
    echo "+ helm uninstall $RELEASE_NAME $*" >&2
    helm uninstall "$RELEASE_NAME" "$@"
fi
