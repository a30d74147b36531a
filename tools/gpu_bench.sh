#!/usr/bin/env bash
# Measures on the GPUs of this machine what bench/results holds of GPUs: builds the preset cuda and runs the benchmarks
# named, or all for which there are GPUs, one after the other, each with a limit of its own. A table of what ran comes last.
#
# Usage: tools/gpu_bench.sh [NAME...]   --list prints names, GPUs, seconds and commands, and runs nothing
# BENCH_FOLDER (default: bench/results) is where files go; logs go to build/bench-logs.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | GPUs | seconds at most | settings of the environment and arguments of `slipstream`, or a tool of Python's
benchmarks() {
  local format streaming label
  for format in f32 f16 f64; do
    for streaming in two in_place; do
      echo "rates | 1 | 60 | bench lbm --precision $format --streaming $streaming --cells 128 256 512"
    done
  done
  cat <<'EOF'
rates2 | 2 | 60 | bench lbm --precision f32 --cells 128 256 512 -n 2
rates2 | 2 | 60 | bench lbm --precision f64 --cells 128 256 512 -n 2
rates4 | 4 | 60 | bench lbm --precision f32 --grid 2x2x1 --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f32 --grid 2x2x1 --layout soa --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f32 --grid 1x2x2 --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f64 --grid 1x2x2 --cells 256 512 -n 4
communication2 | 2 | 240 | bench lbm --experiment communication -n 2
communication | 4 | 240 | bench lbm --experiment communication -n 4
blocks | 4 | 90 | bench lbm --experiment communication --grid 3x3x3 --devices 4
imbalance | 2 | 60 | bench lbm --experiment imbalance --devices 2
weak | 4 | 90 | bench lbm --experiment weak --devices 4
strong | 4 | 120 | bench lbm --experiment strong --precision f32 --cells 512 --devices 4
strong | 4 | 120 | bench lbm --experiment strong --precision f64 --cells 256 --devices 4
layout | 1 | 420 | bench lbm --experiment layout
validation | 4 | 600 | bench lbm --experiment validation --cells 64 -n 4
frame2 | 2 | 120 | bench lbm --experiment frame --cells 256 -n 2
frame | 4 | 120 | bench lbm --experiment frame --cells 256 -n 4
flagfield | 1 | 420 | bench lbm --experiment flagfield --precision f32 --cells 256
flagfield | 1 | 420 | bench lbm --experiment flagfield --precision f32 --streaming in_place --cells 256
methods | 1 | 240 | bench lbm --experiment methods --precision f32
simd | 1 | 60 | bench lbm --experiment simd --precision f64
io | 4 | 240 | bench lbm --experiment io --cells 64 128 -n 4
cavity | 1 | 300 | bench cavity --cells 64 128 192
cavity | 1 | 180 | bench cavity --cells 64 128 --precision f64
cavity | 1 | 180 | bench cavity --cells 192 --precision f16
cases | 1 | 300 | bench cases
cases_fine | 1 | 420 | bench cases --variant fine
exchange | 4 | 180 | bench exchange --part must scaling --devices 4
exchange | 4 | 300 | bench exchange --part all -n 4
exchange | 4 | 60 | bench exchange --part must --layout soa -n 4
ladder | 4 | 180 | bench exchange --part ladder --sizes 64 256 512 --devices 4
ladder | 4 | 180 | bench exchange --part ladder --sizes 64 256 512 -n 2
exchange1 | 1 | 60 | bench exchange --part must
pingpong | 2 | 300 | bench pingpong -n 2
copy | 4 | 120 | bench copy
allreduce | 4 | 60 | bench allreduce -n 4
allreduce | 4 | 60 | bench allreduce --devices 4
placement | 4 | 60 | bench placement -n 4
placement | 4 | 60 | bench placement --devices 4
trace | 2 | 60 | tools/trace_exchange.py --routes direct staged
EOF
  for label in 'ob1, smcuda' ucx; do
    echo "device_buffers | 2 | 300 | OMPI_MCA_pml=${label%,*} bench pingpong --device-buffers --label '$label' -n 2"
  done
}

if [ "${1:-}" = --list ]; then
  benchmarks
  exit
fi
targets=python_package
source tools/gpu_build.sh
gpus=$(nvidia-smi -L | wc -l)
aware=$("$python" -c 'from slipstream.core import core; print(core().mpi_gpu_aware())')
folder=${BENCH_FOLDER:-bench/results}
logs=build/bench-logs
mkdir -p "$logs"
summary=() failed=0 number=0
while IFS='|' read -r name needed limit arguments; do
  name=${name// /} needed=${needed// /} limit=${limit// /}
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  if [ "$needed" -gt "$gpus" ]; then
    summary+=("$(printf '%-8s %-14s %s' skipped "$name" "needs $needed GPUs")")
    continue
  fi
  if [ "$name" = device_buffers ] && [ "$aware" != True ]; then
    summary+=("$(printf '%-8s %-14s %s' skipped "$name" "needs an MPI that says that it takes addresses in GPU memory")")
    continue
  fi
  eval "words=($arguments)" settings=()
  while [[ ${words[0]} == *=* ]]; do
    settings+=("${words[0]}")
    words=("${words[@]:1}")
  done
  program=(-m slipstream)
  if [[ ${words[0]} == tools/* ]]; then program=(); fi
  number=$((number + 1)) start=$SECONDS verdict=done
  # One GPU must not be taken for a quarter of four.
  visible=$(seq -s, 0 $((needed - 1)))
  env "${settings[@]}" CUDA_VISIBLE_DEVICES="$visible" timeout -k 10 "$limit" "$python" "${program[@]}" "${words[@]}" \
    --backend cuda --folder "$folder" >"$logs/$number-$name.log" 2>&1 </dev/null || { verdict=FAILED failed=1; }
  cat "$logs/$number-$name.log"
  summary+=("$(printf '%-8s %-14s %5d s  %s' "$verdict" "$name" $((SECONDS - start)) "$arguments")")
done < <(benchmarks)
printf '%s\n' "${summary[@]}"
exit $failed
