# Sourced by gpu_test.sh, gpu_sanitize.sh, gpu_bench.sh and the kit's slipstream in the root of the tree. If gpu-kit/ holds a
# build from 'make gpu-kit', only the Python modules are compiled, once, for the Python of this machine. Otherwise builds the
# preset cuda, all of it or the given targets. Uses no network: missing packages come from gpu-kit/, too.
# GPU_TEST_ARCHITECTURES (default: this machine's) names the GPU architectures. GPU_MPI=yes runs with the kit's GPU-aware MPI,
# for the route gpu_mpi. Sets python and PYTHONPATH, and tests to the folder of the C++ tests.
mkdir -p build
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}

# OPAL_PREFIX tells Open MPI its new location. Only smcuda may carry device memory: UCX treats it as host memory.
if [ "${GPU_MPI:-}" = yes ]; then
  [ -e gpu-kit/gpu-mpi.tar.xz ] || fail "GPU_MPI=yes, and the kit has no gpu-mpi.tar.xz: fill it with KIT_GPU_MPI=... make gpu-kit."
  if [ ! build/gpu-mpi -nt gpu-kit/gpu-mpi.tar.xz ]; then
    rm -rf build/gpu-mpi && mkdir -p build/gpu-mpi && tar -C build/gpu-mpi -xJf gpu-kit/gpu-mpi.tar.xz
    touch build/gpu-mpi
  fi
  OPAL_PREFIX=$(echo "$PWD"/build/gpu-mpi/*)
  export OPAL_PREFIX PATH=$OPAL_PREFIX/bin:$PATH
  export LD_LIBRARY_PATH=$OPAL_PREFIX/lib:$OPAL_PREFIX/lib/ucx${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export OMPI_MCA_pml=ob1 OMPI_MCA_btl=smcuda,self
fi
command -v nvidia-smi >/dev/null && nvidia-smi -L || fail "no GPU here: nvidia-smi lists none."
python=$(tools/setup.sh --python)
site=$PWD/build/gpu-site
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
if [ -n "$("$python" tools/missing_python.py run build test)" ]; then
  export PYTHONPATH=$site:$PYTHONPATH
  if [ -n "$("$python" tools/missing_python.py run build test)" ] && ls gpu-kit/wheels/*.whl >/dev/null 2>&1; then
    rm -rf "$site"
    "$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-cache-dir --target "$site" \
      gpu-kit/wheels/*.whl
  fi
  missing=$("$python" tools/missing_python.py run build test)
  [ -z "$missing" ] || fail "$python lacks $(paste -sd' ' <<<"$missing"): fill gpu-kit/ with 'make gpu-kit' where there is a network."
fi

if [ -e gpu-kit/built.tar.xz ]; then
  kit=$PWD/build/unpacked-kit
  if [ ! "$kit" -nt gpu-kit/built.tar.xz ]; then
    rm -rf "$kit" && mkdir -p "$kit" && tar -C "$kit" -xJf gpu-kit/built.tar.xz
    sed -i "s|@kit@|$kit|g" "$kit/CTestTestfile.cmake"
    touch "$kit"
  fi
  tests=$kit/bin ctest_folder=$kit
  # Finds libraries that the loader may not find: CUDA, and NVSHMEM from its Python package.
  nvidia=$("$python" -c 'import nvidia; print(*(p + "/nvshmem/lib" for p in nvidia.__path__), sep=":")' 2>/dev/null || true)
  export LD_LIBRARY_PATH=$kit/lib:/usr/local/cuda/lib64${nvidia:+:$nvidia}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  missing=$(ldd "$tests/unit_tests" | awk '/not found/ {print $1}' | paste -sd' ')
  [ -z "$missing" ] || fail "the kit needs libraries that this machine lacks: $missing"
  cmake -S . -B build/module -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_RPATH="$kit/lib" -DSLIPSTREAM_PYTHON=ON \
    "-DSLIPSTREAM_LIBRARY=$kit/lib/libslipstream.so" "-DPython_EXECUTABLE=$python" >build/module.log 2>&1 &&
    cmake --build build/module >>build/module.log 2>&1 || fail "the Python modules cannot be built: $(tail -n 20 build/module.log)"
else
  tests=$PWD/build/cuda/tests ctest_folder=$PWD/build/cuda
  command -v nvcc >/dev/null || fail "no nvcc on the path: install the CUDA toolkit, 13.0 or newer, or bring what 'make gpu-kit' makes."
  architectures=${GPU_TEST_ARCHITECTURES:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sort -u |
    sed 's/\.//; s/$/-real/' | paste -sd';')}
  cmake --preset cuda "-DCMAKE_CUDA_ARCHITECTURES=$architectures" "-DPython_EXECUTABLE=$python"
  cmake --build --preset cuda ${targets:+--target $targets}
fi
# Tests use all backends that they find, so a build without CUDA would pass silently.
"$python" -c 'import sys; from slipstream import _core; sys.exit(not _core.available("cuda"))' ||
  fail "the build cannot reach a GPU: compare the driver's CUDA version (nvidia-smi) with the toolkit's (nvcc --version)."
