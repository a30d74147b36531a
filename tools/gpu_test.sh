#!/usr/bin/env bash
# Builds the preset cuda and runs every test on the GPUs of this machine, as tools/gpu_build.sh says.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/gpu_build.sh
# Both suites run, also when the first fails: time on such machines is dear.
failed=0
ctest --test-dir "$ctest_folder" --output-on-failure || failed=1
# What NVSHMEM starts cannot be taken back: where a rank fails, the job ends with a message, and in time.
if [ "$(nvidia-smi -L | wc -l)" -gt 1 ]; then
  said=$(timeout 60 mpiexec -n 2 --oversubscribe --bind-to none "$tests/mpi_tests" --gtest_also_run_disabled_tests \
    --gtest_filter='LibraryStart.DISABLED_OfNvshmem*' 2>&1) && failed=1
  grep -q 'the start of NVSHMEM took longer than' <<<"$said" || { echo "$said"; failed=1; }
fi
"$python" -m pytest tests/python || failed=1
exit $failed
