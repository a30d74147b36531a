#!/usr/bin/env bash
# The command line from the kit beside the tree: gpu-kit/slipstream.
set -euo pipefail
here=$PWD
cd "$(dirname "$(readlink -f "$0")")/.."
source tools/gpu_build.sh >&2
cd "$here"
exec "$python" -m slipstream "$@"
