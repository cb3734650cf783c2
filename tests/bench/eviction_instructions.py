#!/usr/bin/env python3
"""What eviction costs in instructions, under callgrind: the share of a reading that is spent in selecting and compacting.

    eviction_instructions.py PALIMPSEST MODEL FILE [COMMON OPTIONS...]

Reads FILE once per policy. A policy without signals whose share is s costs 1 / (1 - s) of the same attention without
eviction."""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, MODEL, FILE = sys.argv[1:4]
OPTIONS = sys.argv[4:] or ["--budget", "512", "--chunk", "256"]
STEP = re.compile(r"^\s*([\d,]+) \(\s*[\d.]+%\).*Session::Step::attended")
TOTAL = re.compile(r"^\s*([\d,]+) \(100\.0%\)\s+PROGRAM TOTALS")


def number(text):
    return int(text.replace(",", ""))


def share(policy, folder):
    out = os.path.join(folder, policy.replace(":", "_"))
    subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, PROGRAM, "inspect", FILE, "--model",
                    MODEL, "--policy", policy, "--threads", "1", "--layer", "0", "--head", "0", *OPTIONS],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], check=True,
                          capture_output=True, text=True).stdout
    total = next(number(m.group(1)) for m in map(TOTAL.match, text.splitlines()) if m)
    step = next(number(m.group(1)) for m in map(STEP.match, text.splitlines()) if m)
    return total, step / total


def main():
    with tempfile.TemporaryDirectory() as folder:
        for policy in ("streaming", "lacache", "treekv", "treekv-log"):
            total, part = share(policy, folder)
            print("%-12s %15d instructions, select + compact %.3f %%, ratio %.4f" % (policy, total, 100 * part, 1 / (1 - part)))


sys.exit(main())
