#!/bin/bash
# What a spot machine runs when it starts: a worker that leaves in time, or a new one if it fails.
#
#   spot/worker.sh tls://10.0.0.5:8786 /home/you/tls
#
# The folder is the one that certificates.py has made, copied here. As a start-up script it runs
# until the machine is taken away.
set -euo pipefail
umask 077

scheduler=${1:?the address of the scheduler}
export DASK_CONFIG="${2:?the folder of certificates}/dask.yaml"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
[ -r "$DASK_CONFIG" ] || { echo "there is no $DASK_CONFIG" >&2; exit 2; }

worker=
told=
trap 'told=yes; [ -z "$worker" ] || kill -TERM "$worker" 2>/dev/null || true' TERM INT
while [ -z "$told" ]; do
    "${SPEEDCUBE_PYTHON:-python}" "$here/worker.py" "$scheduler" &
    worker=$!
    status=0
    wait "$worker" || status=$?
    while kill -0 "$worker" 2>/dev/null; do wait "$worker" || true; done
    [ -n "$told" ] || { echo "the worker ended ($status): another one in 10 s" >&2; sleep 10; }
done
