#!/usr/bin/env python3
"""Compares prefill and decode at the start of a session with llama.cpp on the same GGUF files, alternating.

Usage: against_llama.py LLAMA_BENCH SPEED_BENCH MODEL.gguf... [--threads N] [--tokens N] [--decode N] [--rounds N]
                        [--repeats N]

In every round each program runs once per model: llama-bench with flash attention off and on, and speed-bench with task
`start`. A ratio is our tokens per second divided by llama.cpp's with the better of its two settings. Prints median and
range over the rounds, and the ratio of the best rounds, because other load on the machine can only slow a program down.
Exits with 1 if a model's median is below 1.0 for decode or below 0.8 for prefill.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def lines_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s ended with %d: %s" % (command[0], done.returncode, done.stderr.strip()[-400:]))
    return done.stdout


def theirs(o, model, flash):
    """llama.cpp's tokens per second in prefill and decode."""
    found = json.loads(lines_of([o.llama_bench, "-m", model, "-t", str(o.threads), "-fa", str(flash), "-p", str(o.tokens),
                                 "-n", str(o.decode), "-r", str(o.repeats), "-o", "json"]))
    return (next(max(run["samples_ts"]) for run in found if run["n_prompt"] > 0),
            next(max(run["samples_ts"]) for run in found if run["n_gen"] > 0))


def ours(o, model):
    out = lines_of([o.speed_bench, model, "--threads", str(o.threads), "--tasks", "start", "--start", str(o.tokens),
                    "--decode", str(o.decode), "--repeats", str(o.repeats)])
    found = [json.loads(line) for line in out.splitlines()]
    return (max(run["prefill_tokens_per_second"] for run in found), max(run["decode_tokens_per_second"] for run in found))


def measure(o, model):
    """Measures a model; returns whether it meets both bars."""
    met = True
    rounds = []
    for _ in range(o.rounds):
        off, own, on = theirs(o, model, 0), ours(o, model), theirs(o, model, 1)
        rounds.append([(own[task], max(off[task], on[task])) for task in (0, 1)])
    for task, name, bar in ((0, "prefill %d" % o.tokens, 0.8), (1, "decode", 1.0)):
        pairs = [r[task] for r in rounds]
        ratios = [own / other for own, other in pairs]
        best_own, best_other = max(own for own, _ in pairs), max(other for _, other in pairs)
        met = met and statistics.median(ratios) >= bar
        print("%-24s %-12s ratio %.2f (%.2f to %.2f), of the best rounds %.2f: ours %.1f, llama.cpp %.1f tokens/s%s" %
              (os.path.basename(model), name, statistics.median(ratios), min(ratios), max(ratios), best_own / best_other,
               best_own, best_other, "" if statistics.median(ratios) >= bar else "  BELOW %.1f" % bar), flush=True)
    return met


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("llama_bench")
    parser.add_argument("speed_bench")
    parser.add_argument("models", nargs="+")
    for name, value in (("threads", 2), ("tokens", 512), ("decode", 64), ("rounds", 5), ("repeats", 2)):
        parser.add_argument("--" + name, type=int, default=value)
    o = parser.parse_args()
    sys.exit(0 if all([measure(o, model) for model in o.models]) else 1)


main()
