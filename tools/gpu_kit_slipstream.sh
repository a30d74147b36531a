#!/usr/bin/env bash
# The command line of the kit: gpu-kit/slipstream.
set -euo pipefail
here=$PWD
cd "$(dirname "$(readlink -f "$0")")/.."
source tools/gpu_build.sh >&2
cd "$here"
exec "$python" -m slipstream "$@"
