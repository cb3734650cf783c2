#!/usr/bin/env python3
"""Perplexity of texts under policies and budgets: what each policy costs, with intervals over texts.

    perplexity.py measure PROGRAM --results FILE.jsonl [--policies "A;B"] [--budgets N,M] [--lengths 8k,64k] [--first N]
                  [--jobs J] [--minutes M] TEXT... [-- options of 'eval ppl', such as --device cuda]
    perplexity.py tables FILE.jsonl [--beside streaming | --beside full@8128]
    perplexity.py curves FILE.jsonl [--budget N]

`measure` starts one process per policy, budget and text, J at once, and adds a line to the file as each ends, so that a
measurement that was stopped goes on where it was: what the file holds is not measured again. Whatever fails is a line with
`error`, which is tried again.

`tables` compares policies at each length: the geometric mean over texts of the perplexity divided by that of the policy
`--beside`, with a 95 % interval (bootstrap over texts, 10,000 draws with a fixed seed): at the same budget, or at the one that
is given with it. `curves` gives the perplexity of
the tokens between one length and the next, of each text."""
import argparse
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import threading
import time

DRAWS = 10000
SEED = 20


def parse(words):
    program_options = []
    if "--" in words:
        words, program_options = words[:words.index("--")], words[words.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    measure = verbs.add_parser("measure")
    measure.add_argument("program")
    measure.add_argument("texts", nargs="+")
    measure.add_argument("--results", required=True)
    measure.add_argument("--policies", default="streaming", type=lambda t: t.split(";"))
    measure.add_argument("--budgets", default="512", type=lambda t: t.split(","))
    measure.add_argument("--lengths")
    measure.add_argument("--first")
    measure.add_argument("--jobs", type=int, default=1)
    measure.add_argument("--minutes", type=float, default=math.inf, help="start nothing after this time, and end what runs")
    for name in ("tables", "curves"):
        verbs.add_parser(name).add_argument("results")
    verbs.choices["tables"].add_argument("--beside", default="streaming")
    verbs.choices["curves"].add_argument("--budget", type=int, help="of this one only")
    options = parser.parse_args(words)
    options.program_options = program_options
    return options


# -- measuring

def measured(options, policy, budget, text, left):
    words = [options.program, "eval", "ppl", text, "--policy", policy, "--budget", budget, "--json", "--no-save"]
    words += ["--lengths", options.lengths] if options.lengths else []
    words += ["--first", options.first] if options.first else []
    begin = time.monotonic()
    line = {"text": os.path.basename(text), "policy": policy, "budget": budget, "options": options.program_options,
            "first": options.first}
    try:
        done = subprocess.run([*words, *options.program_options], capture_output=True, text=True,
                              timeout=None if math.isinf(left) else left)
    except subprocess.TimeoutExpired:
        return dict(line, error="no time left")
    if done.returncode:
        sentences = [s for s in done.stderr.splitlines() if s.strip()]
        return dict(line, error=sentences[-1] if sentences else "exit %d" % done.returncode)
    found = json.loads(done.stdout)
    result = found["results"][0]
    return dict(line, seconds=round(time.monotonic() - begin, 1), model=found["model"]["fingerprint"],
                tokens=result["tokens_predicted"], mean_loss=result["mean_loss"], by_length=result["by_length"],
                positions=result["policy"]["positions"], chunk=result["policy"]["chunk"], memory=result["memory"])


def key(line):
    return line["text"], line["policy"], line["budget"], line["first"], tuple(line["options"])


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def measure(options):
    known = {key(line) for line in read(options.results) if "error" not in line}
    end = time.monotonic() + options.minutes * 60
    lock = threading.Lock()

    def one(job):
        left = end - time.monotonic()
        if left < 1:
            return False
        line = measured(options, *job, left)
        with lock, open(options.results, "a") as out:
            out.write(json.dumps(line) + "\n")
        print("%s %s %s: %s" % (line["policy"], line["budget"], line["text"],
                                line.get("error") or "%.4f after %.1f s" % (line["mean_loss"], line["seconds"])), flush=True)
        return "error" not in line

    jobs = [(policy, budget, text) for policy in options.policies for budget in options.budgets for text in options.texts]
    jobs = [job for job in jobs if
            (os.path.basename(job[2]), job[0], job[1], options.first, tuple(options.program_options)) not in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return 0 if all(list(pool.map(one, jobs))) else 1


# -- reports

def losses(line):
    """Mean loss by length, of what lies before each length, and of all of it under its number of tokens."""
    found = {entry["length"]: entry["mean_loss"] for entry in line["by_length"]}
    return found or {line["tokens"]: line["mean_loss"]}


def interval(values):
    """Bounds of 95 % of the means of values drawn with replacement."""
    draw = random.Random(SEED)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(DRAWS))
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS) - 1]


def by_policy(lines, budget):
    """policy -> length -> text -> loss"""
    found = {}
    for line in lines:
        if line["budget"] == budget:
            for length, loss in losses(line).items():
                found.setdefault(line["policy"], {}).setdefault(length, {})[line["text"]] = loss
    return found


def tables(options):
    lines = [line for line in read(options.results) if "error" not in line]
    options.beside, _, own_budget = options.beside.partition("@")
    budgets = {line["budget"] for line in lines if own_budget or line["policy"] == options.beside}
    for budget in sorted(budgets - {own_budget}, key=int):
        found = by_policy(lines, budget)
        beside = by_policy(lines, own_budget or budget)[options.beside]
        found[options.beside] = beside
        lengths = sorted(beside)
        print("\nBudget %s\n\n| policy | %s |\n|---|%s" % (budget, " | ".join("%d tokens" % n for n in lengths), "---|" * len(lengths)))
        last = lengths[-1]

        def cell(policy, length):
            own = found[policy].get(length, {})
            shared = sorted(own.keys() & beside[length].keys())
            if not shared:
                return "", math.inf
            values = [own[text] - beside[length][text] for text in shared]
            low, high = interval(values)
            mean = sum(values) / len(values)
            text = "%.4f (%.4f to %.4f)" % (math.exp(mean), math.exp(low), math.exp(high))
            return text + (", %d texts" % len(shared) if len(shared) < len(beside[length]) else ""), mean

        for policy in sorted(found, key=lambda p: cell(p, last)[1]):
            print("| %s | %s |" % (policy, " | ".join(cell(policy, length)[0] for length in lengths)))
        print("\n%s itself: %s" % (options.beside, "; ".join(
            "%.2f at %d (%d texts)" % (math.exp(sum(beside[n].values()) / len(beside[n])), n, len(beside[n])) for n in lengths)))


def curves(options):
    lines = [line for line in read(options.results) if "error" not in line and line["by_length"]]
    for budget, text in sorted({(line["budget"], line["text"]) for line in lines}):
        if options.budget and int(budget) != options.budget:
            continue
        own = {line["policy"]: line for line in lines if (line["budget"], line["text"]) == (budget, text)}
        steps = {}
        for policy, line in own.items():
            # A text's first token is predicted from nothing and has no loss.
            before, counted, total = 0, 0, 0.0
            for entry in line["by_length"]:
                until = entry["mean_loss"] * (entry["length"] - 1)
                span = (before, entry["length"])
                steps.setdefault(policy, {})[span] = (until - total) / (entry["length"] - 1 - counted)
                before, counted, total = entry["length"], entry["length"] - 1, until
        spans = sorted({span for found in steps.values() for span in found})
        print("\n%s, budget %s: perplexity of the tokens between\n\n| policy | %s |\n|---|%s" % (
            text, budget, " | ".join("%d and %d" % span for span in spans), "---|" * len(spans)))
        for policy in sorted(steps, key=lambda p: own[p]["mean_loss"]):
            print("| %s | %s |" % (policy, " | ".join(
                "%.2f" % math.exp(steps[policy][span]) if span in steps[policy] else "" for span in spans)))


def main(words):
    options = parse(words)
    return {"measure": measure, "tables": tables, "curves": curves}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
