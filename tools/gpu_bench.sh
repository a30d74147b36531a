#!/usr/bin/env bash
# Measures the GPU rows of bench/results on the GPUs of this machine. Builds the preset cuda and runs the named benchmarks,
# by default all for which there are enough GPUs, each with a timeout. Single-GPU benchmarks that hardly use the host run
# first, one on each GPU at a time; the others follow one by one. Prints a table of all runs at the end.
#
# Usage: tools/gpu_bench.sh [NAME...]   --list prints names, GPUs, seconds and commands, and runs nothing
#        tools/gpu_bench.sh sentinels [PARENT]   twelve rows on one GPU or two, compared with a parent's tree. PARENT is
#        a folder, or a commit, which is checked out in build/sentinels. PARENT_COMMIT names a folder without git.
# BENCH_FOLDER (default: bench/results) receives the result files; logs go to build/bench-logs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Columns of a benchmark: name | GPUs; + allows concurrent runs | timeout in seconds | environment variables and
# arguments of `slipstream`, or a Python tool
benchmarks() {
  local format streaming label
  for format in f32 f16 f64; do
    for streaming in two in_place; do
      echo "rates | 1+ | 60 | bench lbm --precision $format --streaming $streaming --cells 128 256 512"
    done
  done
  cat <<'EOF'
rates | 1+ | 180 | bench lbm --representation moments --precision f32 --precision f16 --precision f64 --cells 128 256 512
rates2 | 2 | 120 | bench lbm --representation moments --precision f32 --precision f16 --precision f64 --cells 512 --devices 2
rates4 | 4 | 60 | bench lbm --representation moments --precision f32 --grid 1x2x2 --cells 256 512 -n 4
rates2 | 2 | 60 | bench lbm --precision f32 --cells 128 256 512 -n 2
rates2 | 2 | 60 | bench lbm --precision f64 --cells 128 256 512 -n 2
rates4 | 4 | 60 | bench lbm --precision f32 --grid 2x2x1 --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f32 --grid 2x2x1 --layout soa --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f32 --grid 1x2x2 --cells 128 256 512 -n 4
rates4 | 4 | 60 | bench lbm --precision f64 --grid 1x2x2 --cells 256 512 -n 4
communication2 | 2 | 240 | bench lbm_communication -n 2
communication | 4 | 240 | bench lbm_communication -n 4
blocks | 4 | 90 | bench lbm_blocks --devices 4
imbalance | 2 | 60 | bench lbm_imbalance --devices 2
weak | 4 | 90 | bench lbm_weak --devices 4
strong | 4 | 120 | bench lbm_strong --precision f32 --cells 512 --devices 4
strong | 4 | 120 | bench lbm_strong --precision f64 --cells 256 --devices 4
layout | 1+ | 420 | bench lbm_layout
validation | 4 | 240 | bench lbm_validation --cells 64 -n 4
validation_whole | 4 | 600 | bench lbm_validation --cells 128 -n 4
frame2 | 2 | 120 | bench lbm_frame --cells 256 -n 2
frame | 4 | 120 | bench lbm_frame --cells 256 -n 4
flagfield | 1+ | 420 | bench lbm_flagfield --precision f32 --cells 256
flagfield | 1+ | 420 | bench lbm_flagfield --precision f32 --streaming in_place --cells 256
flagfield | 1+ | 420 | bench lbm_flagfield --collision recursive --precision f32 --cells 256 512 --shares 0.05
methods | 1+ | 240 | bench lbm_methods --precision f32
simd | 1+ | 60 | bench lbm_simd --precision f64
io | 4 | 240 | bench lbm_io --cells 64 128 -n 4
cavity | 1+ | 300 | bench cavity --cells 64 128 192
cavity | 1+ | 180 | bench cavity --cells 64 128 --precision f64
cavity | 1+ | 180 | bench cavity --cells 192 --precision f16
cases | 1+ | 300 | bench cases
cases_fine | 1+ | 420 | bench cases --variant fine
cases_finest | 1+ | 420 | bench cases --variant finest
collisions | 1+ | 180 | bench cases taylor_green --variant fine --collision TRT regularised recursive --precision f32 f16
collisions | 1+ | 180 | bench cases cavity --variant medium --collision TRT regularised recursive
collisions | 1+ | 300 | bench cases sphere --variant fine --collision TRT regularised recursive
collisions_fine | 1+ | 600 | bench cases cavity --variant fine --collision TRT regularised recursive
collisions_fine | 1+ | 600 | bench cases taylor_green --variant finest --collision TRT regularised recursive --precision f32 f16
stencil | 1+ | 120 | bench stencil --precision f32 --precision f64
stencil2 | 2 | 60 | bench stencil --cells 512 --devices 2
stencil2 | 2 | 60 | bench stencil --methods heat7 --cells 128 --together 1 2 4 8 --routes kernel,staged --devices 2
fft | 1+ | 120 | bench fft --types c64 f64
fft2 | 2 | 120 | bench fft --types c64 f64 --devices 2 --cufftxt
fft2 | 2 | 180 | bench fft --types f32 f64 --sizes 512 1024 --decompositions slab pencil measured --devices 2
fft2 | 2 | 120 | bench fft --types c64 f64 --sizes 1000 --devices 2 --cufftxt
fft_routes2 | 2 | 60 | bench fft --types c64 --sizes 512 1024 --routes kernel,peer --devices 2
fft4 | 4 | 120 | bench fft --types c64 --sizes 1024 --devices 4 --cufftxt
fft4 | 4 | 120 | bench fft --types f32 f64 --sizes 1024 --decompositions slab pencil measured --devices 4
dns | 1+ | 180 | bench dns
dns2 | 2 | 180 | bench dns --devices 2
dns4 | 4 | 120 | bench dns --sizes 512 --devices 4
dns_weak | 1+ | 60 | bench dns --sizes 256 --weak
dns_weak2 | 2 | 60 | bench dns --sizes 256 --weak --devices 2
dns_weak4 | 4 | 60 | bench dns --sizes 256 --weak --devices 4
gather_scatter | 1+ | 180 | bench gather_scatter
gather_scatter2 | 2 | 420 | bench gather_scatter --calls 1000 -n 2
gather_scatter4 | 4 | 120 | bench gather_scatter --orders 1 7 --devices 4
axhelm | 1+ | 240 | bench axhelm --elements 16 32
nekbone | 1+ | 420 | bench nekbone --elements 16 32 --sums device host
nekbone2 | 2 | 360 | bench nekbone --elements 16 32 --sums device host --devices 2
nekbone4 | 4 | 120 | bench nekbone --orders 7 --elements 32 --factors stored affine --devices 4
poisson | 1+ | 300 | bench poisson --elements 16 32
poisson2 | 2 | 120 | bench poisson --elements 16 32 --aspects 1 --devices 2
sem | 1+ | 120 | bench sem
sem2 | 2 | 120 | bench sem --devices 2
sem_pressure | 1 | 90 | bench sem --cases vortices --projection 0 --elements 8 16 32
sem_thesis | 1 | 540 | bench sem_thesis --devices 1
sem_thesis2 | 2 | 420 | bench sem_thesis --devices 2
vortex | 1 | 400 | bench vortex --devices 1
out_of_core | 1 | 240 | bench out_of_core --kinds fft --types c64 --sizes 1024 --budgets '2 GiB' '256 MiB' '32 MiB' '8 MiB' --synchronous
out_of_core_dns | 1 | 300 | bench out_of_core --kinds dns --sizes 1024 --budgets '8 GiB' --synchronous
out_of_core_dns | 1 | 120 | bench out_of_core --kinds dns --sizes 1024 --budgets resident '8 GiB' --copies kernel pitched mixed
beside | 1 | 60 | bench out_of_core --kinds beside --rows 8192 65536
out_of_core2 | 2 | 120 | bench out_of_core --kinds fft --types c64 --sizes 1024 --budgets '2 GiB' '256 MiB' --devices 2
out_of_core_dns2 | 2 | 400 | bench out_of_core --kinds dns --sizes 1536 --budgets resident '32 GiB' --devices 2
alltoall2 | 2 | 60 | bench alltoall -n 2
exchange | 4 | 180 | bench exchange --part must scaling --devices 4
exchange | 4 | 300 | bench exchange --part all -n 4
exchange | 4 | 60 | bench exchange --part must --layout soa -n 4
exchange | 4 | 60 | bench exchange --part must --layout aos -n 4
ladder | 4 | 180 | bench exchange --part ladder --sizes 64 256 512 --devices 4
ladder | 4 | 180 | bench exchange --part ladder --sizes 64 256 512 -n 2
exchange1 | 1 | 60 | bench exchange --part must
pingpong | 2 | 300 | bench pingpong -n 2
copy | 2 | 120 | bench copy
coding | 1 | 180 | bench coding
coding_lbm1 | 1 | 180 | bench lbm_coding -n 2
coding_lbm2 | 2 | 180 | bench lbm_coding --devices 2
coding_links1 | 1 | 60 | bench exchange --part must --sizes 512 --dtype f64 --routes kernel,staged --throttle '12.5 GB/s' -n 2
coding_links1 | 1 | 60 | bench exchange --part must --sizes 512 --dtype f64 --routes kernel,staged --throttle '12.5 GB/s' --coding 'zfp, rate 32' -n 2
coding_links1 | 1 | 60 | bench exchange --part must --sizes 512 --dtype f64 --routes kernel,staged --throttle '12.5 GB/s' --coding 'blockfloat, rate 32' -n 2
coding_wave1 | 1 | 120 | bench wave -n 2
frame_slow1 | 1 | 120 | bench lbm_frame --cells 256 --throttle '12.5 GB/s, 2 us' -n 2
transpose | 1+ | 60 | bench transpose --turns xyz zyx yzx --types c64 f64 --sizes 512 1024
transpose2 | 2 | 60 | bench transpose --turns xyz zyx yzx -n 2
transpose2 | 2 | 60 | bench transpose --decompositions pencils bricks --sizes 64 256 512 -n 2
transpose_routes2 | 2 | 60 | bench transpose --sizes 20 128 320 512 --routes kernel,peer --devices 2
transpose_routes2 | 2 | 60 | bench transpose --sizes 20 128 320 512 --routes kernel,colocated -n 2
transpose_routes2 | 2 | 60 | bench transpose --sizes 20 128 320 512 --routes kernel,nccl -n 2
transpose_routes2 | 2 | 60 | bench transpose --sizes 20 128 320 512 --routes kernel,nvshmem -n 2
transpose_ways2 | 2 | 60 | bench transpose --sizes 20 128 --routes kernel,staged --ways sends alltoallv ialltoallv put_fence put_lock nodes -n 2
transpose_mpi2 | 2 | 60 | bench transpose --sizes 20 128 512 --routes kernel,gpu_mpi --ways sends alltoallv ialltoallv -n 2
transpose4 | 4 | 60 | bench transpose --sizes 128 512 1024 --devices 4
transpose4 | 4 | 60 | bench transpose --sizes 128 512 --routes kernel,nccl -n 4
transpose4 | 4 | 60 | bench transpose --sizes 128 512 --routes kernel,nvshmem -n 4
allreduce | 4 | 60 | bench allreduce -n 4
allreduce | 4 | 60 | bench allreduce --devices 4
placement | 4 | 60 | bench placement -n 4
placement | 4 | 60 | bench placement --devices 4
EOF
  echo "sentinels | ${sentinel_gpus:-2} | 360 | bench sentinels${parent:+ --parent '$parent' --parent-commit '${PARENT_COMMIT:-}'}"
  cat <<'EOF'
trace | 2 | 60 | tools/trace_exchange.py --routes direct staged
EOF
  for label in 'ob1, smcuda' ucx; do
    echo "device_buffers | 2 | 300 | OMPI_MCA_pml=${label%,*} bench pingpong --device-buffers --label '$label' -n 2"
  done
}

# build_parent FOLDER_OR_COMMIT: builds the parent's tree; sets parent to its folder and PARENT_COMMIT to its name.
build_parent() {
  parent=$1
  if [ ! -d "$parent" ]; then
    parent=build/sentinels/$1
    [ -d "$parent" ] || git worktree add --quiet --detach "$parent" "$1"
  fi
  parent=$(realpath "$parent")
  # In a folder without .git, git would report the commit of this tree.
  if [ -z "${PARENT_COMMIT:-}" ] && [ -e "$parent/.git" ]; then
    PARENT_COMMIT=$(git -C "$parent" rev-parse --short=12 HEAD)
  fi
  (
    cd "$parent"
    export SLIPSTREAM_COMMIT=${PARENT_COMMIT:-unknown}
    [ -e bench/CMakeLists.txt ] || targets=python_package  # older trees build benchmarks by python_package, too
    source tools/gpu_build.sh
  )
}

if [ "${1:-}" = --list ]; then
  benchmarks
  exit
fi
targets=benchmarks
source tools/gpu_build.sh
gpus=$(nvidia-smi -L | wc -l)
sentinel_gpus=$((gpus < 2 ? 1 : 2)) parent=""
if [ "${1:-}" = sentinels ] && [ $# -gt 1 ]; then
  build_parent "$2"
  set -- sentinels
fi
aware=$("$python" -c 'from slipstream.base.registry import benchmarks; print(benchmarks("timed").timed().mpi_gpu_aware())')
folder=${BENCH_FOLDER:-bench/results}
logs=build/bench-logs
rm -rf "$logs" && mkdir -p "$logs"

# measure NUMBER VISIBLE_GPUS LINE: runs a benchmark and writes its result to the file NUMBER.ran of the logs.
measure() {
  local name needed limit arguments words settings=() program=(-m slipstream) start=$SECONDS verdict=done log
  IFS='|' read -r name needed limit arguments <<<"$3"
  name=${name// /} log=$logs/$1-${name// /}.log
  eval "words=($arguments)"
  while [[ ${words[0]} == *=* ]]; do
    settings+=("${words[0]}")
    words=("${words[@]:1}")
  done
  if [[ ${words[0]} == tools/* ]]; then program=(); fi
  env "${settings[@]}" CUDA_VISIBLE_DEVICES="$2" timeout -k 10 "${limit// /}" "$python" "${program[@]}" "${words[@]}" \
    --backend cuda --folder "$folder" >"$log" 2>&1 </dev/null || verdict=FAILED
  cat "$log"
  printf '%-8s %-14s %5d s  %s\n' "$verdict" "$name" $((SECONDS - start)) "$arguments" >"$logs/$1.ran"
}

beside=() alone=() summary=() number=0
while IFS= read -r line; do
  IFS='|' read -r name needed _ <<<"$line"
  name=${name// /} needed=${needed// /}
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  if [ "${needed%+}" -gt "$gpus" ]; then
    summary+=("$(printf '%-8s %-14s %s' skipped "$name" "needs $needed GPUs")")
  elif [[ $name = device_buffers || $name = transpose_mpi2 ]] && [ "$aware" != True ]; then
    summary+=("$(printf '%-8s %-14s %s' skipped "$name" "needs an MPI that says that it takes addresses in GPU memory (GPU_MPI=yes)")")
  elif [ "$needed" = 1+ ]; then
    beside+=("$line")
  else
    alone+=("$line")
  fi
done < <(benchmarks)

process=()
for line in "${beside[@]}"; do
  number=$((number + 1)) gpu=
  while [ -z "$gpu" ]; do
    for ((g = 0; g < gpus; ++g)); do
      if [ -z "${process[$g]:-}" ] || ! kill -0 "${process[$g]}" 2>/dev/null; then gpu=$g; fi
    done
    if [ -z "$gpu" ]; then sleep 0.2; fi
  done
  measure $number "$gpu" "$line" &
  process[$gpu]=$!
done
wait
for line in "${alone[@]}"; do
  number=$((number + 1))
  IFS='|' read -r _ needed _ <<<"$line"
  # Benchmarks of fewer GPUs see only that many, because the number of visible GPUs is part of the result.
  measure $number "$(seq -s, 0 $((needed - 1)))" "$line"
done
for ((n = 1; n <= number; ++n)); do
  if [ -e "$logs/$n.ran" ]; then summary+=("$(<"$logs/$n.ran")"); else summary+=("FAILED   number $n: see $logs"); fi
done
printf '%s\n' "${summary[@]}"
! printf '%s\n' "${summary[@]}" | grep -q ^FAILED
