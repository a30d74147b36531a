#!/usr/bin/env bash
# Builds the preset cuda and runs every test on the GPUs of this machine, as tools/gpu_build.sh says.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/gpu_build.sh
# Both suites run, also when the first fails: time on such machines is dear.
failed=0
ctest --test-dir "$ctest_folder" --output-on-failure || failed=1
"$python" -m pytest tests/python || failed=1
exit $failed
