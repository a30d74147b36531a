#!/usr/bin/env python3
"""Measures the processor time of the builds and of CI, from an empty compiler cache, and writes them as rows `build`.

  tools/build_costs.py REVISION --times FILE [--only STEP...]     clone, build, test; FILE gets seconds of each step
  tools/build_costs.py --rows PARENT CHANGE                       the rows of two such files, for bench/results/build

Processor time is user and system time of all processes of a step. Each step starts from what those before it have left.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("demo", "host", "kit", "ci")


def cmake_lines(clone: Path, target: str, environment: dict[str, str]) -> str:
    """The cmake commands of a target of the Makefile, joined for one shell."""
    told = subprocess.run(
        ["make", "-n", target], cwd=clone, env=environment, capture_output=True, text=True, check=True
    )
    return " && ".join(line for line in told.stdout.splitlines() if line.startswith("cmake "))


def commands(clone: Path, environment: dict[str, str]) -> dict[str, str]:
    return {
        "demo": cmake_lines(clone, "demo", environment),
        "host": cmake_lines(clone, "build", environment),
        "kit": "tools/gpu_kit.sh --no-wheels",
        "ci": ".ci/run",
    }


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slowest_unit_s(build: Path) -> float:
    """Longest wall time of an object file in Ninja's log, or 0."""
    log = build / ".ninja_log"
    if not log.exists():
        return 0.0
    rows = (line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#"))
    return max(((int(row[1]) - int(row[0])) / 1000 for row in rows if row[3].endswith(".o")), default=0.0)


def measure(revision: str, only: list[str]) -> dict[str, object]:
    commit = subprocess.check_output(["git", "rev-parse", revision], cwd=ROOT, text=True).strip()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, check=True)
        environment = os.environ | {"CCACHE_DIR": str(Path(folder, "cache")), "PYTHON": sys.executable}
        subprocess.run(["tools/setup.sh", "ci", "render"], cwd=clone, env=environment, check=True)
        steps = {}
        for name, command in commands(clone, environment).items():
            if name not in only:
                continue
            started, before = time.monotonic(), children_s()
            with open(f"/tmp/build_costs_{commit[:8]}_{name}.log", "w") as log:
                status = subprocess.run(
                    ["bash", "-c", command], cwd=clone, env=environment, stdout=log, stderr=subprocess.STDOUT
                ).returncode
            steps[name] = {
                "command": command.replace(sys.executable, "python3"),
                "cpu_s": round(children_s() - before, 1),
                "wall_s": round(time.monotonic() - started, 1),
                "status": status,
            }
            print(name, steps[name], flush=True)
        slowest = {name: slowest_unit_s(clone / "build" / name) for name in ("host", "kit")}
    return {
        "commit": commit,
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "steps": steps,
        "slowest_unit_s": slowest,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--times", type=Path)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    chosen = parser.parse_args()
    times = measure(chosen.revision, chosen.only)
    chosen.times.write_text(json.dumps(times, indent=2) + "\n")


if __name__ == "__main__":
    main()
