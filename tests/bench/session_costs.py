#!/usr/bin/env python3
"""Measures benefit and cost of saved sessions by document length: time to the first token of a new process that
resumes a session or reads the document again, size of the checkpoint, and bytes written per million tokens.

    session_costs.py PALIMPSEST MODEL TOKENS[,TOKENS...] [COMMON OPTIONS...]

Times are wall clock and processor time, the best of three for a resumed session; compare them only within a run.
"Kernel" is the number of bytes that the operating system counted as written to disk by the process."""
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

from timed_run import TimedRun

PROGRAM, MODEL = sys.argv[1:3]
LENGTHS = [int(n) for n in sys.argv[3].split(",")]
OPTIONS = ["--model", MODEL, *sys.argv[4:]]
WORDS = ("the keeper of light wrote in his book that a ship came home from island with barrels oil and wind was calm sea "
         "night captain said nothing about harbour old road hills winter bread fire letter sister window stone").split()
QUESTION = "Who wrote?"


def timed(environment, *arguments):
    return TimedRun(PROGRAM, environment, *arguments)


def write_document(path, tokens, environment):
    """Writes random words that amount to about `tokens` tokens."""
    source = random.Random(1)
    line = lambda: " ".join(source.choice(WORDS) for _ in range(14)).capitalize() + ".\n"
    sample = "".join(line() for _ in range(200))
    with open(path, "w") as out:
        out.write(sample)
    counted = subprocess.run([PROGRAM, "tokenize", path, "--count", "--model", MODEL], capture_output=True, text=True,
                             env=environment, check=True).stdout
    per_line = int("".join(c for c in counted.split()[0] if c.isdigit())) / 200
    with open(path, "w") as out:
        for _ in range(round(tokens / per_line)):
            out.write(line())


def stored(database):
    """Returns stored and raw bytes of the newest checkpoint, and bytes of documents and of the fade record."""
    connection = sqlite3.connect(database)
    one = lambda sql: connection.execute(sql).fetchone()
    state, raw = one("SELECT sum(length(data)), sum(raw) FROM snapshot_blocks JOIN blocks ON blocks.id = block WHERE snapshot = "
                     "(SELECT max(id) FROM snapshots WHERE complete = 1)")
    text, = one("SELECT sum(length(data)) FROM document_blocks")
    fading, = one("SELECT coalesce(sum(length(data)), 0) FROM fading")
    connection.close()
    return state, raw, text, fading


def measure(folder, tokens, environment):
    path = os.path.join(folder, "%d.txt" % tokens)
    write_document(path, tokens, environment)
    database = path + ".db"
    read = timed(environment, "read", path, "--session", "s", "--db", database, *OPTIONS)
    often = timed(environment, "read", path, "--session", "s", "--db", path + ".often.db", "--checkpoint-seconds", "0", *OPTIONS)
    ask = ["ask", "--session", "s", "--db", database, QUESTION, "--max-tokens", "1", "--model", MODEL]
    resumed = min((timed(environment, *ask) for _ in range(3)), key=lambda run: run.seconds)
    again = timed(environment, "ask", path, QUESTION, "--max-tokens", "1", *OPTIONS)
    assert resumed.result["answers"] == again.result["answers"]
    seen = read.result["tokens_seen"]
    millions = seen / 1e6
    state, raw, text, fading = stored(database)
    fed = resumed.result.get("tokens_fed_again", "not told")
    print("%8d tokens: first token resumed %.3f s (processor %.3f s, document tokens fed again: %s), read again %.2f s "
          "(processor %.2f s): %.0f times" % (seen, resumed.seconds, resumed.processor, fed, again.seconds, again.processor,
                                              again.seconds / resumed.seconds))
    print("%8s state %.2f MB stored, %.2f MB raw; text, ids and lengths %.2f MB, fading record %.2f MB, file %.2f MB" %
          ("", state / 1e6, raw / 1e6, text / 1e6, fading / 1e6, os.path.getsize(database) / 1e6))
    for name, run in (("as it is", read), ("states as often as allowed", often)):
        print("%8s written per million tokens, %s: %.1f MB (kernel %.1f MB)" %
              ("", name, run.result["bytes_written"] / 1e6 / millions, run.disk_bytes / 1e6 / millions))


def main():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
    with tempfile.TemporaryDirectory() as folder:
        environment.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
        print("%s, options %s, load of the machine %.1f" % (os.path.basename(MODEL), " ".join(OPTIONS[2:]) or "default",
                                                            os.getloadavg()[0]))
        for tokens in LENGTHS:
            measure(folder, tokens, environment)


main()
