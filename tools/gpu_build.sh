# Sourced by gpu_test.sh, gpu_sanitize.sh and gpu_bench.sh in the root of the tree: builds the preset cuda, all of it or the
# targets given.
# Touches no network: what the machine lacks comes from gpu-kit/, which 'make gpu-kit' fills elsewhere.
# GPU_TEST_ARCHITECTURES (default: this machine's) names what to compile for. With GPU_BUILD=no nothing is built: what was
# built on a machine of this kind came along. Sets python and PYTHONPATH.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() {
  echo "$(basename "$0" .sh): $*" >&2
  exit 1
}

command -v nvidia-smi >/dev/null && nvidia-smi -L || fail "no GPU here: nvidia-smi lists none."
command -v nvcc >/dev/null || fail "no nvcc on the path: install the CUDA toolkit, 13.0 or newer."
architectures=${GPU_TEST_ARCHITECTURES:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sort -u |
  sed 's/\.//; s/$/-real/' | paste -sd';')}

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

if [ "${GPU_BUILD:-yes}" != no ]; then
  cmake --preset cuda "-DCMAKE_CUDA_ARCHITECTURES=$architectures" "-DPython_EXECUTABLE=$python"
  cmake --build --preset cuda ${targets:+--target $targets}
fi
# What runs takes the backends that it finds: without this it would be content with the host alone.
"$python" -c 'import sys; from slipstream import _core; sys.exit(not _core.available("cuda"))' ||
  fail "the build cannot reach a GPU: compare the driver's CUDA version (nvidia-smi) with the toolkit's (nvcc --version)."
