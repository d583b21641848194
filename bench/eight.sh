#!/bin/sh
# What several GPUs of one machine do, in two commands of at most nine minutes each:
#   bash bench/eight.sh [--dry]                              tests, bits, sums, the ladder, order
#   bash bench/eight.sh training [--data FILE.csv] [--dry]   ranks, epochs, a sweep
# Files go to $OUT_DIR, or to measurements/. It needs Python with NumPy, Dask and CuPy, or PyTorch for
# training ($PYTHON: which); the package itself need not be installed.
cd "$(dirname "$0")/.." || exit 2
PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" exec "${PYTHON:-python3}" bench/eight.py "$@"
