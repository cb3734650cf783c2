#!/usr/bin/env python3
"""Counts how many facts, planted far back in a text of any length, are found and answered.

    far.py PROGRAM --books FOLDER_OR_FILE... --tokens N [--model MODEL] [--depths 0,10,...,100] [--budget N] [--policy P]
           [--facts FILE] [--seed N] [--max-tokens N] [--database FILE] [--json FILE] [-- MORE]

Writes a text of about N tokens of the model: the books in an order that --seed shuffles, cut at a paragraph, repeated only
if they are too few. At every depth (percent of the text) some of the facts of far.facts.json are planted, each a
paragraph of its own, 0.5 % of the text from one another, and each fact's distractors (the same kind of thing with other
names and numbers) at random places. One `palimpsest read` reads the text into a session in a database of its own; then
one `palimpsest ask`, with its default rereading, answers three questions a fact: a direct one, which shares names and
other words with the fact's paragraph; a named one, which shares a name alone; and a paraphrased one, which shares
neither. MORE are options of `ask`. With --database the text and the session are kept, and the next call goes on with
them. Counts, with 95 % intervals (Wilson):

found     every byte of the sentence that holds the answer is in the passages that were read again or are held well
answered  the answer contains the expected words (answer_match.py)
useful    the answer, or the sentence quoted under it, contains them

Seconds are those between two events of `ask --events`, one process for all questions, so that neither its start nor the
loading of model, session and encoder count; a question that is not counted goes first. A question begins when the last
event of the one before it is written. 'search': the program's own figure for searching and choosing passages;
'finding': until the passages are known, with the encoding of the question; 'first token': until that is written. Memory
is the peak of resident memory (VmHWM), mapped files included. For every fact that is not found, `find` tells at which
rank its passage would have come.
"""
import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from answer_match import holds
from found import interval

KINDS = ("direct", "named", "paraphrased")
FIRST_QUESTION = "What is this text about?"  # not counted: it pays for what is read from disk for the first time
BETWEEN = 0.005  # of the text, between two facts of one depth


@dataclass
class Place:
    depth: int  # percent of the text
    evidence: tuple  # first byte, and the byte after the last


@dataclass
class Times:
    found: float | None = None  # seconds until the passages are known; None if there are none
    first_token: float | None = None  # None if the answer is empty


def books_in(places, seed):
    """The files, in an order that the seed shuffles."""
    files = []
    for place in places:
        files += sorted(place.glob("*.txt")) if place.is_dir() else [place]
    random.Random(seed).shuffle(files)
    return files


def gather(files, size):
    """Returns so many bytes of the books, cut after a paragraph, and how many books that takes, repetitions included."""
    parts, length, count = [], 0, 0
    while length < size:
        text = files[count % len(files)].read_bytes().strip()
        parts.append(text)
        length += len(text) + 2
        count += 1
    text = b"\n\n".join(parts)
    if len(text) > size:
        text = text[:text.rindex(b"\n\n", 0, size)]
    return text, count


def boundary(text, at):
    """Where the first paragraph at or after a byte begins; the end of the text if there is none."""
    if at <= 0:
        return 0
    found = text.find(b"\n\n", at)
    return len(text) if found < 0 else found + 2


def plant(text, facts, depths, chance):
    """Returns the text with facts and distractors in it, and the Place of each fact."""
    size = len(text)
    planted = []  # where, in which order, what
    for i, fact in enumerate(facts):
        depth, nth = depths[i % len(depths)], i // len(depths)
        share = depth / 100 + (nth if depth <= 50 else -nth) * BETWEEN
        planted.append((boundary(text, int(share * size)), len(planted), fact["paragraph"]))
        for distractor in fact["distractors"]:
            planted.append((boundary(text, int(chance.random() * size)), len(planted), distractor))
    pieces, last = [], 0
    for at, _, paragraph in sorted(planted):
        pieces.append(text[last:at])
        pieces.append(b"\n\n" + paragraph.encode() if at == size else paragraph.encode() + b"\n\n")
        last = at
    pieces.append(text[last:])
    text = b"".join(pieces)
    places = []
    for i, fact in enumerate(facts):
        evidence = fact["evidence"].encode()
        begin = text.index(evidence)
        if text.find(evidence, begin + 1) >= 0:
            sys.exit(f"the books hold the evidence of '{fact['id']}' already")
        places.append(Place(depths[i % len(depths)], (begin, begin + len(evidence))))
    return text, places


def covers(ranges, evidence):
    """Whether every byte of the evidence is in one of the ranges."""
    at, end = evidence
    for first, last in sorted(ranges):
        if first <= at < last:
            at = last
    return at >= end


def times_of(events, begin):
    """The Times of each question, from the events of one `ask` and when each was written."""
    times, current, last = [], Times(), begin  # last: the last event of the question before
    for at, event in events:
        kind = event["event"]
        if kind == "reread":
            current.found = at - last
        elif kind == "token" and current.first_token is None:
            current.first_token = at - last
        elif kind == "answer":
            times.append(current)
            current = Times()
        if kind in ("answer", "quote"):
            last = at
    return times


class Program:
    def __init__(self, options, folder):
        self.program = str(Path(options.program).resolve())
        self.model = ["--model", options.model] if options.model else []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
        installed = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # models and the encoder
        self.environment.update(XDG_CONFIG_HOME=folder, XDG_DATA_HOME=installed, PALIMPSEST_DB=str(options.database))
        self.options = options

    def json(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--json"], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip())
        return json.loads(done.stdout)

    def watch(self, arguments, show=lambda event: None):
        """Runs the program; returns its JSON, its events with the seconds since its start, and its peak memory."""
        with tempfile.TemporaryFile("w+") as output:
            begin = time.monotonic()
            process = subprocess.Popen([self.program, *arguments, "--json", "--events"], env=self.environment,
                                       stdout=output, stderr=subprocess.PIPE, text=True)
            events, peak = [], 0
            try:
                for line in process.stderr:
                    now = time.monotonic() - begin
                    if not line.startswith("{"):
                        sys.exit(line.strip())
                    events.append((now, json.loads(line)))
                    peak = max(peak, peak_memory(process.pid))
                    show(events[-1][1])
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                raise
            if process.wait():
                sys.exit(f"{arguments[0]}: {events[-1:]}")
            output.seek(0)
            return json.load(output), events, peak, time.monotonic() - begin

    def bytes_per_token(self, text):
        """From up to 2 MB of the text, of 20 places."""
        step = max(1, len(text) // 20)
        sample = b"\n\n".join(text[boundary(text, at):][:100_000] for at in range(0, len(text), step))
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(sample.decode(errors="ignore").encode())
            file.flush()
            return len(sample) / int(self.json("tokenize", file.name, "--count", *self.model)["count"])

    def read(self, document):
        cache = [option for name in ("budget", "policy") if getattr(self.options, name)
                 for option in (f"--{name}", getattr(self.options, name))]
        said = [time.monotonic()]

        def show(event):
            if event["event"] == "progress" and time.monotonic() - said[0] > 30:
                said[0] = time.monotonic()
                print(f"{event['tokens_seen']} tokens, {event['tokens_per_second']:.0f} a second", file=sys.stderr)
        return self.watch(["read", str(document), "--session", "far", *self.model, *cache], show)

    def ask(self, questions):
        return self.watch(["ask", "--session", "far", *self.model, "--temperature", "0",
                           "--max-tokens", str(self.options.max_tokens), *self.options.more, *questions])

    def rank(self, question, evidence, *more):
        """At which rank, from 1 on, `find` has the evidence; None if it is not in its best 131,072 tokens."""
        passages = self.json("find", question, "--session", "far", "--tokens", "131072", *more)["passages"]
        for rank, passage in enumerate(sorted(passages, key=lambda passage: -passage["score"]), 1):
            if covers([passage["bytes"]], evidence):
                return rank
        return None


def peak_memory(process):
    """Bytes; 0 if the process has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.M)
    return int(found[1]) * 1024 if found else 0


def results_of(program, facts, places, document):
    """Asks all questions; returns a result each, the program's JSON, the memory of asking, and the Times of the first."""
    asked = [(fact, place, kind) for fact, place in zip(facts, places) for kind in KINDS]
    output, events, peak, _ = program.ask([FIRST_QUESTION, *(fact[kind] for fact, _, kind in asked)])
    first, *times = times_of(events, 0.0)
    results = []
    with open(document, "rb") as file:
        for (fact, place, kind), answer, time_ in zip(asked, output["answers"][1:], times, strict=True):
            found = answer["reread"]["passages"] + answer["reread"]["held"]
            quote = answer["quote"] or {"text": ""}
            if answer["quote"]:
                file.seek(quote["bytes"][0])
                if file.read(quote["bytes"][1] - quote["bytes"][0]).decode() != quote["text"]:
                    sys.exit("the program's byte numbers are not those of the text that was written")
            right, quoted = (any(holds(text, gold) for gold in fact["answers"]) for text in (answer["text"], quote["text"]))
            results.append({"id": fact["id"], "kind": kind, "depth": place.depth, "question": fact[kind],
                            "found": covers([passage["bytes"] for passage in found], place.evidence),
                            "held": covers([passage["bytes"] for passage in answer["reread"]["held"]], place.evidence),
                            "right": right, "useful": right or quoted, "answer": answer["text"], "quote": quote["text"],
                            "tokens": answer["reread"]["tokens"], "search": answer["reread"]["seconds"],
                            "finding": time_.found, "first_token": time_.first_token})
    return results, output, peak, first


def explain(program, result, place):
    """Says why a fact was not found."""
    result["rank_by_words"] = program.rank(result["question"], place.evidence, "--words")
    result["rank"] = program.rank(result["question"], place.evidence)
    if result["rank"] is not None and result["rank"] <= 64:  # most_hits of storage/session/rereading.cpp
        return "cut by the limit of tokens"
    if result["rank"] is None and result["rank_by_words"] is None:
        return "near neither by words nor by meaning"
    return "ranked behind the first 64"


def share(results, field):
    hits = sum(result[field] for result in results)
    low, high = interval(hits, len(results))
    return f"{hits:3} of {len(results):3}  {hits / max(1, len(results)):.3f} ({low:.3f}-{high:.3f})"


def seconds(results, field):
    values = sorted(result[field] for result in results if result[field] is not None)
    if not values:
        return "none"
    return f"median {statistics.median(values):.3f}, most {values[-1]:.3f}"


def report(results):
    for kind in (*KINDS, "all"):
        of_kind = [result for result in results if kind in (result["kind"], "all")]
        print(f"{kind:12}" + "".join(f"  {name} {share(of_kind, field)}" for name, field in
                                     (("found", "found"), ("answered", "right"), ("useful", "useful"))))
    for depth in sorted({result["depth"] for result in results}):
        at = [result for result in results if result["depth"] == depth]
        counts = []
        for kind in KINDS:
            of_kind = [result for result in at if result["kind"] == kind]
            counts.append(f"{sum(result['found'] for result in of_kind)} of {len(of_kind)} {kind}")
        print(f"depth {depth:3} %  found {', '.join(counts)}; answered {sum(result['right'] for result in at)}")
    for name, field in (("search", "search"), ("finding", "finding"), ("first token", "first_token")):
        print(f"{name}: {seconds(results, field)} s")


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--books", type=Path, nargs="+", required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--model")
    parser.add_argument("--depths", default=",".join(str(10 * i) for i in range(11)))
    parser.add_argument("--budget", help="the program's default if absent: 2048, or less for a small context")
    parser.add_argument("--policy", help="the program's default if absent")
    parser.add_argument("--facts", type=Path, default=Path(__file__).resolve().parent / "far.facts.json")
    parser.add_argument("--seed", type=int, default=1, help="of the order of books and the places of distractors")
    parser.add_argument("--max-tokens", type=int, default=64, help="of an answer")
    parser.add_argument("--database", type=Path, help="where to keep the session; its text is kept beside it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments[:split])
    options.more = arguments[split + 1:]
    facts = json.loads(options.facts.read_text())["facts"]
    depths = [int(depth) for depth in options.depths.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        options.database = (options.database or Path(folder, "far.db")).resolve()
        document = options.database.with_suffix(".txt")
        program = Program(options, folder)
        files = books_in(options.books, options.seed)
        text, _ = gather(files, 6 * options.tokens)
        planted = sum(len(text) + 2 for fact in facts for text in (fact["paragraph"], *fact["distractors"]))
        text, books = gather(files, max(1, int(options.tokens * program.bytes_per_token(text)) - planted))
        text, places = plant(text, facts, depths, random.Random(options.seed))
        if not document.is_file() or document.read_bytes() != text:
            document.write_bytes(text)
        repeated = f", repeated to {books}" if books > len(files) else ""
        print(f"{len(text)} bytes of {min(books, len(files))} books{repeated}; {len(facts)} facts, "
              f"{sum(len(fact['distractors']) for fact in facts)} distractors", flush=True)
        del text
        read, _, reading_peak, reading = program.read(document)
        cache = read["memory"]["cache_bytes"]
        print(f"{read['tokens_seen']} tokens read in {reading:.0f} s, {read['policy']['name']}, budget "
              f"{read['policy']['budget']}; cache {cache / 1e6:.1f} MB, peak memory {reading_peak / 1e6:.0f} MB", flush=True)
        results, output, asking_peak, first = results_of(program, facts, places, document)
        place_of = {fact["id"]: place for fact, place in zip(facts, places)}
        report(results)
        print(f"with the start of the program, the first question's passages came after {first.found or 0:.2f} s, its first "
              f"token after {first.first_token or 0:.2f} s")
        print(f"peak memory while asking {asking_peak / 1e6:.0f} MB, cache {output['memory']['cache_bytes'] / 1e6:.1f} MB")
        reasons = Counter()
        for result in results:
            if result["found"]:
                continue
            result["reason"] = explain(program, result, place_of[result["id"]])
            reasons[result["kind"], result["reason"]] += 1
            print(f"not found: {result['id']} ({result['kind']}, {result['depth']} %): {result['reason']}; rank "
                  f"{result['rank']}, by words {result['rank_by_words']}", flush=True)
        for (kind, reason), count in sorted(reasons.items()):
            print(f"{count:3} {kind} {reason}")
    if options.json:
        options.json.write_text(json.dumps(
            {"schema": "palimpsest.quality/1", "way": "far", "tokens": read["tokens_seen"], "reading_seconds": reading,
             "policy": read["policy"]["name"], "budget": read["policy"]["budget"], "cache_bytes": cache,
             "peak_reading_bytes": reading_peak, "peak_asking_bytes": asking_peak, "model": read["model"]["file"],
             "facts": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
