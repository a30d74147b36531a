#!/usr/bin/env bash
# Builds the preset cuda and runs every test on the GPUs of this machine, as tools/gpu_build.sh and tools/test_all.py say.
#
# Usage: tools/gpu_test.sh [PART...] [--lanes N] [--list] [--folder FOLDER]   a PART is one of --list, or how some begin;
# --lanes: so many at once, each on its share of the GPUs; --folder: for what became of them, in place of bench/results
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/gpu_build.sh
"$python" tools/test_all.py --gpus "$ctest_folder" "$@"
