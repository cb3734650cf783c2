#!/usr/bin/env python3
"""Measures exported files of one read text: bytes, and the time to export, to import and to the first token of an
answer in a new process, for every form of the cache and without one.

    export_costs.py PALIMPSEST MODEL TEXT TOKENS [COMMON OPTIONS...]

Reads about the first TOKENS tokens of the text once. Times are wall clock and processor time, the best of three,
each import into a new database; compare them only within a run. The model is given to every command: looking for it
in folders is not measured."""
import os
import re
import subprocess
import sys
import tempfile

from timed_run import TimedRun

PROGRAM, MODEL, TEXT = sys.argv[1:4]
TOKENS = int(sys.argv[4])
OPTIONS = ["--model", MODEL, *sys.argv[5:]]
ANSWER = ["who?", "--max-tokens", "1", "--reread", "never", "--model", MODEL]


def timed(environment, *arguments):
    return TimedRun(PROGRAM, environment, *arguments)


def best(runs):
    return min(runs, key=lambda run: run.seconds)


def beginning(folder, environment):
    counted = subprocess.run([PROGRAM, "tokenize", TEXT, "--count", "--model", MODEL], capture_output=True, text=True,
                             env=environment, check=True).stdout
    tokens = int(re.sub(r"\D", "", counted.split()[0]))
    with open(TEXT, encoding="utf-8") as book:
        content = book.read()
    path = os.path.join(folder, "book.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write(content[:len(content) * TOKENS // tokens])
    return path


def measure(folder, form, database, environment):
    files = [os.path.join(folder, "%s %d.palimpsest" % (form, i)) for i in range(3)]
    if form == "none":
        subprocess.run([PROGRAM, "sessions", "strip", "book", "--db", database], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rounding = ["--snapshot", form, *OPTIONS[:2]] if form in ("q8", "q4") else []
    exported = best([timed(environment, "sessions", "export", "book", file, "--db", database, *rounding) for file in files])
    new = lambda i: os.path.join(folder, "%s %d.db" % (form, i))
    imported = best([timed(environment, "sessions", "import", files[0], "--db", new(i)) for i in range(3)])
    rounds = 1 if form == "none" else 3
    asked = best([timed(environment, "ask", files[0], *ANSWER, "--db", new(i)) for i in range(rounds)])
    print("%-5s file %.2f MB, cache %.2f MB; export %.2f s (processor %.2f s), import %.2f s (%.2f s), first token %.2f s "
          "(%.2f s), fed again %d" % (form, exported.result["bytes"] / 1e6, exported.result["cache_bytes"] / 1e6,
                                      exported.seconds, exported.processor, imported.seconds, imported.processor,
                                      asked.seconds, asked.processor, asked.result["tokens_fed_again"]), flush=True)


def main():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
    with tempfile.TemporaryDirectory() as folder:
        environment.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
        database = os.path.join(folder, "home.db")
        read = timed(environment, "read", beginning(folder, environment), "--session", "book", "--db", database, *OPTIONS)
        print("%s, %d tokens, options %s, load of the machine %.1f; read in %.1f s (processor %.1f s)" %
              (os.path.basename(MODEL), read.result["tokens_seen"], " ".join(OPTIONS[2:]) or "default", os.getloadavg()[0],
               read.seconds, read.processor), flush=True)
        for form in ("exact", "q8", "q4", "none"):
            measure(folder, form, database, environment)


main()
