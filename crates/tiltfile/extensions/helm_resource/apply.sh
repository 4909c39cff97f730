#!/bin/sh
# Installs the chart $CHART as $RELEASE_NAME and prints its manifests and the objects that are in the cluster then. The arguments are
# flags for helm. Only the objects go to stdout.
set -eu

# Which flags set the images that lilt built. Lines of $IMAGE_KEYS: number of the image, part, key.
while read -r number part key; do
    [ -n "$number" ] || continue
    image=
    eval "image=\$TILT_IMAGE_$number"
    tag=${image##*:}
    name=${image%:*}
    registry=${name%%/*}
    repository=${name#*/}
    case "$registry" in
        "$name") registry= ;;
        *.* | *:* | localhost) ;;
        *)
            registry=
            repository=$name
            ;;
    esac
    case "$part" in
        reference) value=$image ;;
        name) value=$name ;;
        registry) value=$registry ;;
        repository) value=$repository ;;
        tag) value=$tag ;;
    esac
    # Without a registry the chart's own stays.
    if [ -n "$value" ]; then
        set -- "$@" --set "$key=$value"
    fi
done <<KEYS
$IMAGE_KEYS
KEYS

say() {
    echo "+ $*" >&2
    "$@"
}

if [ "${HELM_DEPENDENCY_UPDATE:-}" = true ]; then
    say helm dependency update "$CHART" >&2
fi
if [ "${HELM_DEPENDENCY_BUILD:-}" = true ]; then
    say helm dependency build "$CHART" --skip-refresh >&2
fi

if [ -z "$NAMESPACE" ]; then
    say helm upgrade --install "$@" "$RELEASE_NAME" "$CHART" >&2
    manifest=$(say helm get manifest "$RELEASE_NAME")
else
    say helm upgrade --install "$@" --namespace "$NAMESPACE" "$RELEASE_NAME" "$CHART" >&2
    manifest=$(say helm get manifest --namespace "$NAMESPACE" "$RELEASE_NAME")
    # Objects without a namespace are in the release's. `kubectl --namespace` would refuse those of another, so the
    # namespace is made the default of the context: the first file that names a context decides.
    overlay=$(mktemp)
    trap 'rm -f "$overlay"' EXIT
    trap 'exit 143' HUP INT TERM
    at() { kubectl config view --minify -o "jsonpath={$1}"; }
    context=$(kubectl config current-context)
    cluster=$(at '.contexts[0].context.cluster')
    user=$(at '.contexts[0].context.user')
    KUBECONFIG=$overlay kubectl config set-context "$context" --cluster="$cluster" --user="$user" \
        --namespace="$NAMESPACE" >/dev/null
    KUBECONFIG="$overlay:${KUBECONFIG:-$HOME/.kube/config}"
    export KUBECONFIG
fi

# A chart may be empty but for its hooks, and kubectl takes nothing for a mistake.
if printf '%s\n' "$manifest" | grep -q '^[^#-]'; then
    # What the chart says comes first, so that lilt knows which fields are the chart's.
    printf '%s\n# lilt: as they are in the cluster\n' "$manifest"
    printf '%s\n' "$manifest" | say kubectl get -o yaml -f -
fi
