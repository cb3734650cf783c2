#!/usr/bin/env python3
"""Records what a set of runs prints and stores, to show that a change of structure changed no bit.

    recorded_runs.py PROGRAM OUT.json [--database OLD.db]     records; OLD.db: a database that an earlier program wrote
    recorded_runs.py --compare BEFORE.json AFTER.json         ends with 1 and the differences if there are any

The runs are on the CPU with the model that the program ships: each policy's kept sets as JSON maps, answers, perplexity
over the logits, sessions that are read, asked, undone and branched, and the bytes of every stored snapshot block. Times,
speeds, sizes of the process and paths are left out."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "samples" / "ashford-light.md"
POLICIES = ["treekv", "treekv-log", "lacache", "streaming", "h2o", "snapkv", "pyramidkv", "refreekv", "hbw-kv", "full"]
# Values that differ from run to run.
VOLATILE = re.compile(r"seconds|_ms$|per_second|^changed$|^created$|^rss|memory|resident|^date$|^version|bytes_written|threads|path|"
                      r"^load_|^host|allocated|^elapsed|time|^saved$")


def stable(value, key=""):
    """The JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {k: stable(v, k) for k, v in value.items() if not VOLATILE.search(k)}
    if isinstance(value, list):
        return [stable(v) for v in value]
    return value


def without_places(text, folder):
    """The text without the folders of this run and of the program's resources."""
    # A build finds the shipped model among its resources, or in the share folder that an installation has.
    return re.sub(r"/[^\"' ]*/(resources/default-model|share/palimpsest)/", "MODELS/", text.replace(folder, "FOLDER"))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


class Recorder:
    def __init__(self, program, folder):
        self.program, self.folder, self.found = program, pathlib.Path(folder), {}
        self.environment = {"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen",
                            "XDG_DATA_HOME": folder + "/data", "XDG_CONFIG_HOME": folder + "/config",
                            "XDG_CACHE_HOME": folder + "/cache"}

    def run(self, name, *words, text=None):
        """Runs the program; keeps its exit status, its JSON without volatile values, or its plain text."""
        done = subprocess.run([self.program, *map(str, words)], cwd=self.folder, env=self.environment, input=text,
                              capture_output=True, text=True)
        try:
            out = stable(json.loads(done.stdout))
        except ValueError:
            out = re.sub(r"\d+(\.\d+)? (s|ms|min|tokens/s|MB|MiB|kB|KiB|GB|GiB)\b", "#", done.stdout)
        self.found[name] = {"status": done.returncode, "out": out}
        if done.returncode:
            self.found[name]["error"] = done.stderr.splitlines()[-1:]

    def database(self, name, file):
        """The stored stream, messages, fade records and snapshot blocks of a database, as digests."""
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        tables = {}
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            columns = [c for c in columns if not re.search(r"_ms$|^source$", c)]
            if table in ("settings", "sqlite_stat1"):
                continue
            rows = sorted(without_places(repr(row), str(self.folder)) for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}"))
            tables[table] = [len(rows), digest("\n".join(rows).encode())]
        self.found[name] = tables


def excerpt(folder):
    """About 6,000 tokens of the sample: long enough that every policy evicts many times."""
    text = SAMPLE.read_text()
    file = pathlib.Path(folder) / "book.md"
    file.write_text(text[:26000])
    return file


def record(program, old_database):
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(program, folder)
        book = excerpt(folder)
        cache = ["--budget", "256", "--chunk", "128", "--device", "cpu"]
        for policy in POLICIES:
            own = cache if policy != "full" else ["--device", "cpu", "--chunk", "128"]
            recorder.run("inspect " + policy, "inspect", book, "--policy", policy, *own, "--json", "--map", "map.json")
            if (pathlib.Path(folder) / "map.json").exists():
                recorder.found["map " + policy] = digest(json.dumps(stable(json.load(open(folder + "/map.json")))).encode())
                os.remove(folder + "/map.json")
        recorder.run("compare", "compare", book, "--policies", "treekv,streaming,lacache,h2o", *cache, "--json")
        recorder.run("eval ppl", "eval", "ppl", book, "--policy", "treekv", *cache, "--json")
        recorder.run("summarize", "summarize", book, *cache, "--max-tokens", "40", "--json")
        recorder.run("ask", "ask", book, "Who was the first keeper?", "And then?", *cache, "--max-tokens", "24", "--json",
                     "--temperature", "0.8", "--seed", "7")
        recorder.run("ask steered", "ask", book, "Who was the first keeper?", "--steer", "--policy", "snapkv", *cache,
                     "--max-tokens", "24", "--json")
        recorder.run("tokenize", "tokenize", book, "--count", "--json")
        recorder.run("policies", "policies", "list", "--json")
        recorder.run("policy", "policies", "show", "treekv")
        db = folder + "/sessions.db"
        for session, more in (("plain", []), ("kept", ["--policy", "h2o", "--pin", "0-40"]),
                              ("asked", ["--policy", "snapkv", "--question", "Who was the first keeper?"])):
            recorder.run("read " + session, "read", book, "--session", session, "--db", db, *cache, *more, "--json")
            recorder.run("session " + session, "sessions", "show", session, "--db", db, "--json")
            recorder.run("ask " + session, "ask", "--session", session, "--db", db, "Who kept it?", "--max-tokens", "16",
                         "--json")
            recorder.run("chat " + session, "chat", "--session", session, "--db", db, "--max-tokens", "16", "--seed", "3",
                         text="Who kept it?\nAnd then?\n/undo\nAnd after that?\n/quit\n")
            recorder.run("map " + session, "inspect", "--session", session, "--db", db, "--json")
            recorder.run("verify " + session, "sessions", "verify", session, "--db", db, "--json")
        recorder.run("fork", "sessions", "fork", "plain", "other", "--db", db)
        recorder.run("compare sessions", "compare", "--session", "plain,kept", "--db", db, "--json")
        recorder.run("sessions", "sessions", "list", "--db", db, "--json")
        recorder.database("database", db)
        recorder.run("missing file", "read", folder + "/none.md", "--session", "x", "--db", db)
        recorder.run("other budget", "ask", "--session", "plain", "--db", db, "Who?", "--budget", "128")
        if old_database:
            copy = folder + "/old.db"
            pathlib.Path(copy).write_bytes(pathlib.Path(old_database).read_bytes())
            recorder.run("old database", "sessions", "list", "--db", copy, "--json")
            recorder.run("old session", "ask", "--session", "plain", "--db", copy, "Who kept it?", "--max-tokens", "16",
                         "--json", "--no-save")
        else:
            recorder.found["written"] = True
            pathlib.Path(args.out + ".db").write_bytes(pathlib.Path(db).read_bytes())
        return json.loads(without_places(json.dumps(recorder.found), folder))


def compare(before, after):
    differences = 0
    for name in sorted(set(before) & set(after)):
        if before[name] != after[name]:
            differences += 1
            print(f"{name}:\n  before {json.dumps(before[name])[:600]}\n  after  {json.dumps(after[name])[:600]}")
    print(f"{len(set(before) & set(after))} records, {differences} differ")
    return differences


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--database")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    args = parser.parse_args()
    if args.compare:
        sys.exit(1 if compare(*(json.load(open(f)) for f in args.compare)) else 0)
    found = record(str(pathlib.Path(args.program).resolve()), args.database)
    json.dump(found, open(args.out, "w"), indent=1)
    bad = {name: value for name, value in found.items() if isinstance(value, dict) and value.get("status")}
    print(len(found), "records;", len(bad), "ended with an error:", ", ".join(f"{n} ({v['status']})" for n, v in bad.items()))
