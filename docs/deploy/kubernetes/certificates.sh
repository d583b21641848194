#!/bin/bash
# Put a new certificate into the Secret speedcube-tls of the namespace that kubectl uses.
#
#   kubernetes/certificates.sh
#
# Pods that run keep the old one until they are started again.
set -euo pipefail
umask 077

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${SPEEDCUBE_PYTHON:-python}" "$here/certificates.py" "$folder/tls" --at /etc/speedcube
kubectl create secret generic speedcube-tls --from-file="$folder/tls" \
    --dry-run=client --output=yaml | kubectl apply --filename=-
