#!/usr/bin/env bash
# Fills gpu-kit/ with what a GPU machine without network lacks: wheels for its Python and GoogleTest's sources.
# Run it where there is a network, then copy the tree with gpu-kit/ there and run 'make gpu-test'.
#
# KIT_PYTHON is the Python over there, as 3.12 (the default).
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh kit
python=$(tools/setup.sh --python)
version=${KIT_PYTHON:-3.12}

# Named one by one: the dependency solver would drag in what such machines have (numpy, matplotlib).
packages=(pydantic pydantic-core annotated-types typing-inspection typing-extensions rich markdown-it-py mdurl pygments
          nanobind scikit-build-core hypothesis sortedcontainers)
mkdir -p gpu-kit/wheels
rm -f gpu-kit/wheels/*.whl
platforms=()
for glibc in 28 27 17; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
# pydantic accepts one version of pydantic-core only: ask it.
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version "$version" \
  --implementation cp "${platforms[@]}" --platform manylinux2014_x86_64 -d gpu-kit/wheels pydantic
core=$("$python" - gpu-kit/wheels/pydantic-*.whl <<'EOF'
import re, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/METADATA"))
    print(re.search(r"Requires-Dist: (pydantic-core==\S+)", wheel.read(name).decode()).group(1))
EOF
)
packages=("${packages[@]/#pydantic-core/$core}")
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version "$version" \
  --implementation cp "${platforms[@]}" --platform manylinux2014_x86_64 -d gpu-kit/wheels "${packages[@]:1}"

rm -rf gpu-kit/googletest
cp -rL /usr/src/googletest gpu-kit/googletest
rm -rf gpu-kit/googletest/*/test gpu-kit/googletest/*/samples
du -sh gpu-kit
