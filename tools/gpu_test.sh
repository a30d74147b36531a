#!/usr/bin/env bash
# Builds the preset cuda (tools/gpu_build.sh) and runs every test on the GPUs of this machine (tools/test_all.py).
#
# Usage: tools/gpu_test.sh [PART...] [--lanes N] [--list] [--folder FOLDER]   a PART is a name of --list or a prefix;
# --lanes: concurrent parts, each on its share of the GPUs; --folder: for results, instead of bench/results
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/gpu_build.sh
"$python" tools/test_all.py --gpus "$ctest_folder" "$@"
