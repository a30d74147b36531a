#!/usr/bin/env bash
# Runs C++ tests on a GPU of this machine under NVIDIA's compute-sanitizer. Its tool memcheck finds invalid accesses;
# racecheck finds races between the threads of a block in shared memory. Builds the tests in the preset cuda. Prints a table of all runs at the end,
# and fails unless every run passed before its timeout.
#
# Usage: tools/gpu_sanitize.sh [NAME...]   a part, a tool or both, such as exchange, racecheck or exchange-racecheck;
#                                          --list prints them all and runs nothing
# SANITIZE_SECONDS (default: 150) is the timeout of each run; SANITIZE_JOBS (default: 1) of them run at a time.
# CUDA_VISIBLE_DEVICES (default: 0) selects GPUs: with one, tests of two devices per rank are skipped.
# BENCH_FOLDER (default: bench/results) receives the result file; logs go to build/sanitize-logs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Columns of a part: name | ranks, which share the GPUs | binary | tests. Tests of NCCL, NVSHMEM and GPU-aware MPI are
# excluded, because the sanitizer would also report errors inside these libraries.
parts() {
  cat <<'EOF'
exchange | 1 | mpi_tests | Routes/ExchangeScenario.*/cuda_*-*nccl*:*nvshmem*:*gpu_mpi*:*gpu_buffered*
exchange2 | 2 | mpi_tests | Routes/ExchangeScenario.*/cuda_*-*nccl*:*nvshmem*:*gpu_mpi*:*gpu_buffered*
unit | 1 | unit_tests | *cuda*
reduce | 1 | mpi_tests | Methods/Reduce.*/cuda_*:Backends/ReduceOn.*/cuda_*-*nccl*:*Library*
guard | 1 | mpi_tests | Guard/*/cuda_*
lbm | 1 | mpi_tests | Lbm/Sums.*/cuda
moments | 1 | mpi_tests | Lbm/Sameness.*moments_cuda_*
EOF
}

runs=() names=("$@")
if [ "${1:-}" = --list ]; then names=(); fi
while IFS='|' read -r part ranks binary filter; do
  part=${part// /}
  for tool in memcheck racecheck; do
    if [ ${#names[@]} -gt 0 ] && ! [[ " ${names[*]} " =~ " "($part|$tool|$part-$tool)" " ]]; then continue; fi
    runs+=("$part|$tool|${binary// /}|${ranks// /}|${filter// /}")
  done
done < <(parts)
if [ "${1:-}" = --list ]; then
  printf '%s\n' "${runs[@]}" | sed 's/|/-/; s/|/ | /g'
  exit
fi
for name in "${names[@]}"; do
  [[ $(printf '%s\n' "${runs[@]}") =~ (^|$'\n'|'|')"${name/-/|}"'|' ]] || {
    echo "gpu_sanitize: no run has the name $name; --list prints all names." >&2
    exit 1
  }
done
command -v compute-sanitizer >/dev/null || {
  echo "gpu_sanitize: no compute-sanitizer on the path; install the CUDA toolkit." >&2
  exit 1
}

targets="unit_tests mpi_tests python_package"
source tools/gpu_build.sh
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
limit=${SANITIZE_SECONDS:-150} jobs=${SANITIZE_JOBS:-1} logs=build/sanitize-logs
rm -rf "$logs" && mkdir -p "$logs"

# sanitize LIMIT TOOL RANKS BINARY FILTER: runs tests under a tool. Failed CUDA calls do not count, because tests
# provoke some.
sanitize() {
  local launcher=()
  if [ "$4" = mpi_tests ]; then launcher=(mpiexec -n "$3" --oversubscribe --bind-to none); fi
  GTEST_COLOR=no timeout -k 10 "$1" "${launcher[@]}" compute-sanitizer --tool "$2" --target-processes application-only \
    --report-api-errors no --error-exitcode 99 "$tests/$4" "--gtest_filter=$5" </dev/null 2>&1
}

run() {
  local part tool binary ranks filter start=$SECONDS status=0
  IFS='|' read -r part tool binary ranks filter <<<"$1"
  sanitize "$limit" "$tool" "$ranks" "$binary" "$filter" >"$logs/$part-$tool.log" || status=$?
  echo "$1|$limit|$status|$((SECONDS - start))|$logs/$part-$tool.log" >"$logs/$part-$tool.run"
  echo "$part-$tool: exit status $status after $((SECONDS - start)) s"
}

sanitize 120 memcheck 1 unit_tests 'Backends/BufferTest.FillSetsTheBytesAndNoOthers/cuda' >"$logs/probe.log" || true
if refusal=$(grep -i -m 1 'not supported' "$logs/probe.log"); then
  fail "compute-sanitizer refuses the GPU (${refusal#"========= "}): virtual machines and containers may not let it in."
fi
for entry in "${runs[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  run "$entry" &
done
wait
for entry in "${runs[@]}"; do
  IFS='|' read -r part tool _ <<<"$entry"
  cat "$logs/$part-$tool.run"
done | "$python" tools/sanitizer_rows.py --folder "${BENCH_FOLDER:-bench/results}" --command "tools/gpu_sanitize.sh${*:+ $*}"
