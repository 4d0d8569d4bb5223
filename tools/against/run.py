#!/usr/bin/env python3
"""Runs a benchmark of today and of another revision in turns, and prints the ratio of each figure.

    tools/against/run.py REV                          make bench-swaps, three times each
    tools/against/run.py REV --target bench-http      another target of the Makefile
    tools/against/run.py REV --binary                 today's benchmark for REV's program

Figures are the results of Go's benchmarks, and the reports that benchmark programs write to
BENCH_OUT. With --binary the end-to-end benchmarks of today measure the program of the revision,
whose own benchmark may count in another way. Each line has both medians, and today's over the
revision's.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the make around this was told is not for the targets.
OUTER = {"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "ARGS", "REV"}


def figures(text, reports):
    """Yields the name and the value of each figure of a run."""
    for line in text.splitlines():
        words = line.split()
        # A benchmark's log has its name, too, but no number of runs behind it.
        if len(words) < 4 or not words[0].startswith("Benchmark") or not words[1].isdigit():
            continue
        for value, unit in zip(words[2::2], words[3::2]):
            if float(value):
                yield f"{words[0].removeprefix('Benchmark')} {unit}", float(value)
    for report in sorted(reports.glob("*.json")):
        for figure in json.loads(report.read_text()).get("figures", []):
            yield f"{figure['name']} {figure['unit']}", figure["value"]


def run(tree, target, settings):
    """Runs a target in a tree and returns its figures."""
    with tempfile.TemporaryDirectory() as reports:
        env = {key: value for key, value in os.environ.items() if key not in OUTER}
        env |= settings | {"BENCH_OUT": reports}
        done = subprocess.run(["make", "-C", str(tree), target], env=env, stdout=subprocess.PIPE, text=True)
        sys.stderr.write(done.stdout)
        if done.returncode:
            sys.exit(f"against: make {target} failed in {tree}")
        return list(figures(done.stdout, pathlib.Path(reports)))


def show(name, before, now):
    ratio = now / before if before else float("nan")
    print(f"{name:70} {before:12.3f} {now:12.3f} {ratio:8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rev")
    parser.add_argument("--target", default="bench-swaps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--binary", action="store_true")
    options = parser.parse_args()
    # Beside this tree, as ../shared has the recorded blocks.
    tree = pathlib.Path(tempfile.mkdtemp(prefix="mintlake-against-", dir=ROOT.parent))
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), options.rev], check=True)
    sides = {"before": (tree, {}), "now": (ROOT, {})}
    values = {side: {} for side in sides}
    try:
        if options.binary:
            subprocess.run(["make", "-C", str(tree), "build"], check=True, stdout=sys.stderr)
            sides["before"] = (ROOT, {"MINTLAKE_TEST_BINARY": str(tree / "bin" / "mintlake")})
        for _ in range(options.rounds):
            for side, (where, settings) in sides.items():
                for name, value in run(where, options.target, settings):
                    values[side].setdefault(name, []).append(value)
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    print(f"{'figure':70} {options.rev[:12]:>12} {'now':>12} {'ratio':>8}")
    for name, now in values["now"].items():
        if name in values["before"]:
            show(name, statistics.median(values["before"][name]), statistics.median(now))


main()
