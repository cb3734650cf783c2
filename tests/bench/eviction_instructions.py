#!/usr/bin/env python3
"""What eviction costs in instructions, under callgrind: shares of a reading, for every policy.

    eviction_instructions.py PALIMPSEST MODEL FILE [--policies SPEC SPEC ...] [-- COMMON OPTIONS...]

Reads FILE once per policy. `select + compact` selects and evicts entries and compacts the lists; `signals` accumulates
the signals of attention. A policy without signals whose share is s costs 1 / (1 - s) of the same attention without
eviction; `streaming` is the baseline."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

POLICIES = ["streaming", "h2o", "scissorhands", "tova", "snapkv", "pyramidkv", "pyramidkv:allocation=entropy",
            "treekv", "treekv:rule=left", "treekv-log", "treekv-block", "lacache", "hbw-kv", "refreekv", "cake",
            "adakv", "snapkv:budget=auto", "twilight-evict"]
LINE = re.compile(r"^\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*)$")
SESSION = "palimpsest::engine::Session::"
PARTS = {"feed": SESSION + "feed(", "finish": SESSION + "finish(", "signals": SESSION + "Step::attended(",
         "eviction": SESSION + "Step::evict("}


def arguments():
    words = sys.argv[1:]
    own = words[:words.index("--")] if "--" in words else words
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    given = parser.parse_args(own)
    given.options = words[len(own) + 1:]
    return given


def counts(text):
    """Instructions of every part, including callees."""
    found = dict.fromkeys(PARTS, 0)
    for line in map(LINE.match, text.splitlines()):
        for name, function in PARTS.items():
            if line and function in line.group(2):
                found[name] = max(found[name], int(line.group(1).replace(",", "")))
    return found


def read(given, policy, folder):
    out = os.path.join(folder, "callgrind.out")
    options = given.options or ["--budget", "256", "--chunk", "128"]
    command = [given.program, "inspect", given.file, "--model", given.model, "--policy", policy, "--threads", "1",
               "--layer", "0", "--head", "0", *options]
    subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *command], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return counts(subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], check=True,
                                 capture_output=True, text=True).stdout)


def main():
    given = arguments()
    print("%-32s %16s %18s %10s" % ("", "instructions", "select + compact", "signals"))
    with tempfile.TemporaryDirectory() as folder:
        for policy in given.policies:
            of = read(given, policy, folder)
            reading = of["feed"] + of["finish"]
            print("%-32s %16d %16.3f %% %8.3f %%" % (policy, reading, 100 * of["eviction"] / reading,
                                                     100 * of["signals"] / reading), flush=True)


sys.exit(main())
