#!/bin/sh
# Makes, changes or removes the cancel button of the command named by the argument.
set -eu

name=$1
button=$name:cancel
folder=$(cd "$(dirname "$0")" && pwd)

field() {
    tilt get cmd --ignore-not-found -o "jsonpath={$1}" -- "$name"
}

if [ -z "$(field .metadata.name)" ]; then
    tilt delete cmd --ignore-not-found -- "$button"
    tilt delete uibutton --ignore-not-found -- "$button"
    exit
fi

# Commands of the Tiltfile and of local resources only: not those of buttons, of which this is one.
resource=$(field '.metadata.annotations.tilt\.dev/resource')
[ -n "$resource" ] || exit 0
owner=$(field '.metadata.labels.tilt\.dev/owner-kind')
[ -n "$owner" ] || owner=$(field '.metadata.annotations.tilt\.dev/owner-kind')
[ -n "$owner" ] || owner=$(field '.metadata.ownerReferences[0].kind')
case "$owner" in
    Tiltfile | CmdServer) ;;
    *) exit 0 ;;
esac

disabled=false
[ -n "$(field .status.running.pid)" ] || disabled=true

tilt apply -f - <<OBJECTS
apiVersion: tilt.dev/v1alpha1
kind: UIButton
metadata:
  name: "$button"
  annotations:
    tilt.dev/resource: "$resource"
spec:
  text: Cancel
  iconName: cancel
  disabled: $disabled
  location:
    componentType: resource
    componentID: "$resource"
---
apiVersion: tilt.dev/v1alpha1
kind: Cmd
metadata:
  name: "$button"
  annotations:
    tilt.dev/resource: "$resource"
    tilt.dev/log-span-id: "$button"
spec:
  args: ["sh", "end.sh", "$name"]
  dir: "$folder"
  startOn:
    uiButtons: ["$button"]
OBJECTS
