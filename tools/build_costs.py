#!/usr/bin/env python3
"""Measures the processor time of builds and CI from an empty compiler cache, and writes them as rows `build`.

  tools/build_costs.py REVISION --times FILE [--only STEP...]   clones, builds, tests; FILE gets each step's seconds
  tools/build_costs.py --rows PARENT CHANGE                     writes bench/results/build from two such files

Processor time is the user and system time of all processes of a step. A step reuses the results of earlier steps. The
row `host` is therefore the sum of `demo` and `host`, and the row `ci` the sum of all steps.
"""

import argparse
import datetime
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

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
    """Longest wall-clock seconds of an object file in Ninja's log, or 0."""
    log = build / ".ninja_log"
    if not log.exists():
        return 0.0
    rows = (line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#"))
    return max(((int(row[1]) - int(row[0])) / 1000 for row in rows if row[3].endswith(".o")), default=0.0)


def measure(revision: str, only: list[str]) -> dict[str, Any]:
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
            with Path(tempfile.gettempdir(), f"build_costs_{commit[:8]}_{name}.log").open("w") as log:
                status = subprocess.run(
                    ["bash", "-c", command], cwd=clone, env=environment, stdout=log, stderr=subprocess.STDOUT
                ).returncode
            steps[name] = {
                "command": re.sub(r"-DPython_EXECUTABLE=\S+ ?", "", command),
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
        "machine": processor(),
        "steps": steps,
        "slowest_unit_s": slowest,
    }


def cumulative_s(times: dict[str, Any], what: str) -> float | None:
    """Seconds from an empty compiler cache to the end of a build step. For the GPU kit (gpu-kit/), excludes the steps
    of the preset host. None if the step was not measured.
    """
    order = STEPS[: STEPS.index(what) + 1] if what != "kit" else ("kit",)
    steps = [times["steps"].get(step) for step in order]
    if any(step is None or step["status"] for step in steps):
        return None
    return round(sum(step["cpu_s"] for step in steps), 1)


def write_rows(parent: dict[str, Any], change: dict[str, Any]) -> Path:
    rows: list[dict[str, Any]] = []
    for what in STEPS:
        now, before = cumulative_s(change, what), cumulative_s(parent, what)
        if now is None:
            continue
        row: dict[str, Any] = {
            "what": what,
            "ranks": 1,
            "devices": 0,
            "cpu_s": now,
            "command": change["steps"][what]["command"],
        }
        row["wall_s"] = change["steps"][what]["wall_s"]
        if before is not None:
            row |= {
                "parent_cpu_s": before,
                "share_of_parent": round(now / before, 3),
                "parent_commit": parent["commit"],
            }
        if what in change["slowest_unit_s"]:
            row["slowest_unit_s"] = round(change["slowest_unit_s"][what], 1)
        rows.append(row | {"commit": change["commit"], "date": change["date"]})
    result = {
        "benchmark": "build",
        "machine": {"name": f"{change['cores']} cores of {change['machine']}"},
        "commit": change["commit"],
        "date": change["date"],
        "command": "tools/build_costs.py",
        "rows": rows,
    }
    name = "-".join(re.findall(r"[a-z0-9]+", result["machine"]["name"].lower()))
    path = ROOT / "bench" / "results" / "build" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def processor() -> str:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--times", type=Path)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--rows", nargs=2, type=Path, metavar=("PARENT", "CHANGE"))
    chosen = parser.parse_args()
    if chosen.rows:
        print(write_rows(*(json.loads(path.read_text(encoding="utf-8")) for path in chosen.rows)))
    elif chosen.revision and chosen.times:
        times = measure(chosen.revision, chosen.only)
        chosen.times.write_text(json.dumps(times, indent=2) + "\n", encoding="utf-8")
    else:
        parser.error("give REVISION and --times FILE, or --rows PARENT CHANGE")


if __name__ == "__main__":
    main()
