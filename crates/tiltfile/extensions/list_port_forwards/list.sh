#!/bin/sh
# Prints every forward of this session: resource, port of the container, address on this machine.
set -eu

echo 'Port forwards:'
tilt get portforwards -o jsonpath='{range .items[*]}{.metadata.annotations.tilt\.dev/resource}{" "}{range .spec.forwards[*]}{.containerPort}{"="}{.host}{":"}{.localPort}{" "}{end}{"\n"}{end}' |
    while read -r resource forwards; do
        for forward in $forwards; do
            echo "  $resource: port ${forward%%=*} is at ${forward#*=}"
        done
    done
