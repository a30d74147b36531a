#!/usr/bin/env bash
# Fills gpu-kit/ with everything that a GPU machine without network needs: the library, its tests and benchmarks, built here,
# and wheels for its Python. Copy the tree with gpu-kit/ to that machine. There 'gpu-kit/slipstream' is the command line, and
# 'make gpu-test', 'gpu-bench' and 'gpu-sanitize' use the kit instead of a build. Only the Python modules are compiled there.
#
# Usage: tools/gpu_kit.sh [--no-wheels]   --no-wheels: omits everything that needs a download
# KIT_PYTHON (default: 3.12) is the Python of the target machine, KIT_NVSHMEM (default: 3.4.5) its NVSHMEM. KIT_ARCHITECTURES
# (default: 90-real) are its GPUs, as in CMAKE_CUDA_ARCHITECTURES. KIT_GPU_MPI (default: none) is an archive of a GPU-aware
# Open MPI, one folder with bin/ and lib/. It becomes part of the kit; GPU_MPI=yes selects it there (tools/gpu_build.sh).
# KIT_CUFFTDX (default: none) is the folder with include/cufftdx.hpp, for a kit with its kernels (cmake/cufftdx.cmake).
set -euo pipefail
cd "$(dirname "$0")/.."
most_mib=52 kit=gpu-kit build=build/kit
command -v nvcc >/dev/null || {
  echo "gpu_kit: no nvcc on the path: install the CUDA toolkit, 13.0 or newer; it needs no GPU." >&2
  exit 1
}
tools/setup.sh
python=$(tools/setup.sh --python)

# download FOLDER WHAT...: downloads wheels for the target machine's Python into a folder.
download() {
  local platforms=() glibc
  for glibc in 28 27 17; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp \
    --python-version "${KIT_PYTHON:-3.12}" "${platforms[@]}" --platform manylinux2014_x86_64 -d "$@"
}

# Wheels are named one by one: pip would also fetch dependencies that GPU machines usually have (numpy, matplotlib).
packages=(pydantic pydantic-core annotated-types typing-inspection typing-extensions rich markdown-it-py mdurl pygments
          nanobind scikit-build-core hypothesis sortedcontainers pymech xarray pandas)
wheels() {
  local core
  mkdir -p $kit/wheels
  rm -f $kit/wheels/*.whl
  download $kit/wheels pydantic
  # pydantic accepts a single version of pydantic-core, which its wheel names.
  core=$("$python" - $kit/wheels/pydantic-*.whl <<'EOF'
import re, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/METADATA"))
    print(re.search(r"Requires-Dist: (pydantic-core==\S+)", wheel.read(name).decode()).group(1))
EOF
  )
  packages=("${packages[@]/#pydantic-core/$core}")
  download $kit/wheels "${packages[@]:1}"
}

# Only the headers of NVSHMEM are needed to build.
nvshmem() {
  local version=${KIT_NVSHMEM:-3.4.5} wheel
  nvshmem_root=$PWD/build/nvshmem-$version
  if [ ! -e "$nvshmem_root/include/nvshmem_host.h" ]; then
    wheel=$(mktemp -d)
    download "$wheel" "nvidia-nvshmem-cu13==$version"
    mkdir -p "$nvshmem_root"
    "$python" - "$wheel"/*.whl "$nvshmem_root" <<'EOF'
import sys, zipfile
from pathlib import Path
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if "/nvshmem/include/" in name and not name.endswith("/"):
            to = Path(sys.argv[2], "include", name.split("/nvshmem/include/")[1])
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(wheel.read(name))
EOF
    rm -r "$wheel"
  fi
}

nvshmem_root=""
if [ "${1:-}" != --no-wheels ]; then
  wheels
  nvshmem
fi
cmake --preset kit "-DCMAKE_CUDA_ARCHITECTURES=${KIT_ARCHITECTURES:-90-real}" "-DSLIPSTREAM_NVSHMEM_ROOT=$nvshmem_root" \
  "-DSLIPSTREAM_CUFFTDX=$([ -n "${KIT_CUFFTDX:-}" ] && echo ON || echo OFF)" "-DSLIPSTREAM_CUFFTDX_ROOT=${KIT_CUFFTDX:-}"
cmake --build --preset kit

packed=$build/packed
rm -rf $packed
mkdir -p $packed/lib $packed/bin $kit
for library in $build/libslipstream*.so; do strip -o "$packed/lib/$(basename "$library")" "$library"; done
for name in unit_tests mpi_tests; do strip -o $packed/bin/$name $build/tests/$name; done
# The target's HDF5 may have another version or lack MPI support; FFTW and zfp may be missing.
ldd $build/libslipstream.so $build/libslipstream_fft.so $build/tests/unit_tests | awk '/lib(hdf5|sz|aec|fftw3|zfp)[^ ]*\.so/ {print $3}' | sort -u | xargs -I{} cp -L {} $packed/lib/
# The ctest file of the kit, without the test of the installed package. gpu_build.sh replaces @kit@ by the final folder.
sed -e "s|$PWD/$build/tests/|@kit@/bin/|g" -e '/installed/d' $build/tests/CTestTestfile.cmake \
  >$packed/CTestTestfile.cmake
XZ_OPT=-T0 tar -C $packed -cJf $kit/built.tar.xz lib bin CTestTestfile.cmake
install -m 755 tools/gpu_kit_slipstream.sh $kit/slipstream

if [ -n "${KIT_GPU_MPI:-}" ]; then
  tar -tf "$KIT_GPU_MPI" | grep '^[^/]*/bin/mpirun$' >/dev/null || {
    echo "gpu_kit: $KIT_GPU_MPI holds no folder with bin/mpirun: pack the folder into which Open MPI was installed." >&2
    exit 1
  }
  cp "$KIT_GPU_MPI" $kit/gpu-mpi.tar.xz
fi

size=$(du -sm $kit | cut -f1)
echo "gpu-kit: $size MiB, of at most $most_mib"
[ "$size" -le $most_mib ]
