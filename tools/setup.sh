#!/usr/bin/env bash
# Installs missing packages only: Debian packages from tools/debian-packages.txt, Python packages from
# tools/python-packages.txt into .venv. If nothing is missing, it does not use the network.
#
# Usage: tools/setup.sh [ci] [render] [site]  adds the packages for style checks (ci), three-dimensional pictures (render)
#                                             and `make docs` (site) to those for building and testing
#        tools/setup.sh --python       prints only the interpreter in use: .venv's, else $PYTHON, else a python3
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "set-up: $*"; }
fail() {
  echo "set-up: $*" >&2
  exit 1
}

find_python() {
  local candidate
  for candidate in "$PWD/.venv/bin/python" ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
    "$candidate" -c 'import sys; assert sys.version_info >= (3, 11); print(sys.executable)' 2>/dev/null && return
  done
  fail "no Python 3.11 or newer here: install Debian's python3, or name an interpreter with PYTHON=..."
}

# Prints the listed packages that neither dpkg nor their probe command finds.
missing_packages() {
  local package purpose probe
  while read -r package purpose probe; do
    case " $purposes " in *" $purpose "*) ;; *) continue ;; esac
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ] || [[ $probe = PYTHON* ]]; then
      bash -c "${probe/PYTHON/$python}" >/dev/null 2>&1 || echo "$package"
    fi
  done < <(grep -v '^#' tools/debian-packages.txt)
}

install_packages() {
  local missing sudo=""
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  say "installing Debian packages:" $missing
  command -v apt-get >/dev/null || fail "no apt-get here: install the equivalents of" $missing "and start again."
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo: ask an administrator to run 'apt-get install" $missing"'."
    sudo=sudo
  fi
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  missing=$(missing_packages)
  [ -z "$missing" ] || fail "still missing after the installation:" $missing
}

install_python_packages() {
  local purposes="run build test $*" missing
  missing=$("$python" tools/missing_python.py $purposes)
  [ -n "$missing" ] || return 0
  if [ "$python" != "$PWD/.venv/bin/python" ]; then
    say "$python lacks" $missing"; making .venv"
    "$python" -m venv .venv
    python=$PWD/.venv/bin/python
    missing=$("$python" tools/missing_python.py $purposes)
  fi
  say "installing Python packages:" $missing
  "$python" -m pip install --quiet --disable-pip-version-check --prefer-binary $missing
}

python=$(find_python)
if [ "${1:-}" = --python ]; then
  echo "$python"
  exit
fi
purposes="build $*"
install_packages
install_python_packages "$@"
say "ready, with $("$python" -c 'import sys; print(sys.executable, sys.version.split()[0])')"
