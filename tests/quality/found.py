#!/usr/bin/env python3
"""Counts how often the passages that are found for a question contain its evidence.

    found.py PROGRAM FOLDER_OF_BOOKS [QUESTIONS.json...] [--model MODEL] [--tokens 512,1024,2048] [--json FILE] [-- MORE]

MORE are options of `palimpsest find`, such as --words, or --rank-seconds 60. Where a sentence encoder is installed, it is
used, and the first question to a book pays for the book's embeddings.
The sets of questions are those of tests/quality/questions (check_questions.py says what they hold) whose book is in the
folder. Each book is stored by `palimpsest read` in a database of its own, since how rare a word is counts in the whole
database; reading is stopped as soon as the text is stored, because finding needs no cache.
A question counts if all of its evidence is in the best passages that fit into N tokens, as `palimpsest find --tokens N`
prints them; they are chosen here, for every N, from what one call finds. Prints the shares
with their 95 % intervals (Wilson), and how long storing and finding took.
"""
import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTIONS = Path(__file__).resolve().parent / "questions"
KINDS = ("direct", "paraphrased")


def interval(hits, count):
    """The Wilson interval of a share, at 95 %."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, (middle - half) / (1 + z * z / count)), min(1.0, (middle + half) / (1 + z * z / count))


class Program:
    def __init__(self, program, model, more, folder):
        self.program = [str(Path(program).resolve())]
        self.model = ["--model", model] if model else []
        self.more = [*more, *(self.model if "--rank-seconds" in more else [])]
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
        self.environment.update(XDG_CONFIG_HOME=folder, XDG_DATA_HOME=os.environ.get("XDG_DATA_HOME") or
                                os.path.expanduser("~/.local/share"))
        self.folder = folder

    def store(self, book, session):
        """Stores a book, and returns the seconds until its first chunk was computed."""
        self.environment["PALIMPSEST_DB"] = os.path.join(self.folder, f"{session}.db")
        begin = time.monotonic()
        command = [*self.program, "read", str(book), "--session", session, "--events", "--budget", "64", "--chunk", "64",
                   *self.model]
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if json.loads(line).get("event") == "progress":
                break
        seconds = time.monotonic() - begin
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        if process.wait() not in (0, 130):
            sys.exit(f"{book} could not be read")
        return seconds

    def find(self, question, session):
        done = subprocess.run([*self.program, "find", question, "--session", session, "--tokens", "16384", "--json", *self.more],
                              env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout)["passages"]


def chosen(passages, limit):
    """The best that fit into so many tokens together."""
    for passage in sorted(passages, key=lambda passage: -passage["score"]):
        tokens = passage["tokens"][1] - passage["tokens"][0]
        if tokens <= limit:
            limit -= tokens
            yield passage


def holds(passages, text, evidence):
    """Whether every byte of the evidence is in a passage that was found."""
    begin = text.index(evidence.encode())
    missing = set(range(begin, begin + len(evidence.encode())))
    for passage in passages:
        missing -= set(range(*passage["bytes"]))
    return not missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("books", type=Path)
    parser.add_argument("questions", nargs="*", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--tokens", default="512,1024,2048")
    parser.add_argument("--json", type=Path)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    limits = [int(limit) for limit in options.tokens.split(",")]
    results, seconds, stored = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(options.program, options.model, arguments[split + 1:], folder)
        for file in options.questions or sorted(QUESTIONS.glob("*.json")):
            listed = json.loads(file.read_text())
            book = options.books / listed["document"]
            if not book.is_file():
                continue
            text = book.read_bytes()
            stored += program.store(book, file.stem)
            for fact in listed["facts"]:
                if "evidence" not in fact:
                    continue
                result = {"book": file.stem, "id": fact["id"], "kind": fact.get("kind", "direct"), "found": {}}
                begin = time.monotonic()
                passages = program.find(fact["question"], file.stem)
                seconds.append(time.monotonic() - begin)
                for limit in limits:
                    result["found"][limit] = holds(chosen(passages, limit), text, fact["evidence"])
                results.append(result)
    for kind in (*KINDS, "all"):
        asked = [result for result in results if kind in (result["kind"], "all")]
        if asked:
            print(f"{kind:12} {len(asked):4} questions", end="")
            for limit in limits:
                hits = sum(result["found"][limit] for result in asked)
                low, high = interval(hits, len(asked))
                print(f"   {limit}: {hits / len(asked):.3f} ({low:.3f}-{high:.3f})", end="")
            print()
    print(f"{stored:.1f} s to store the books; {sum(seconds) / max(1, len(seconds)):.3f} s a question, with the start of "
          "the program")
    if options.json:
        options.json.write_text(json.dumps({"schema": "palimpsest.quality/1", "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
