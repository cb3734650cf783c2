#!/usr/bin/env python3
"""Summarizes books and checks the notes that the summaries are made of, with rules of its own.
Usage: notes.py PROGRAM [--model NAME] [--out FOLDER] BOOK... [-- options for the program]

Of every note: whether a name or number of a written one is missing in its section (the heading counts as part of it),
whether a quoted one is verbatim, and how many of its content words its own section has, beside the other sections of
the book. Prints a line per book; with --out, the summaries as Markdown and the notes as JSON."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

WORD = re.compile(r"\w+(?:[.,]\d+)*", re.UNICODE)
# Words that begin a sentence without being names; any other capitalised word counts as one.
OPENERS = set("""a about after all also although among an and another any are as at because before both but by can could
 despite did do does during each eventually every finally first following for from given had has have he hence her here his
 how however i if in including indeed instead into is it its just later many may meanwhile more most much must my neither
 no nor not now of on once one only or other our out over own perhaps several shall she should similarly since so some
 someone something such than that the their them then there these they this those through thus to together too two under
 unlike until up upon us various very was we were what when where whether which while who whom whose why will with within
 without would yes yet you your""".split())
NUMBERS = set("""billion dozen eight eighteen eighty eleven fifteen fifth fifty five forty four fourteen fourth half hundred
 million nine nineteen ninety second seven seventeen seventy six sixteen sixty ten third thirteen thirty thousand three
 twelve twenty twice""".split())


def words(text):
    return [w.lower().replace(",", "") for w in WORD.findall(text)]


def missing(note, section):
    """Names and numbers of a note that its section does not have."""
    known = set(words(section))
    found = []
    for word in WORD.findall(note):
        small = word.lower().replace(",", "")
        counts = small in NUMBERS or any(c.isdigit() for c in word) or word[0].isupper() and small not in OPENERS
        if counts and small not in known:
            found.append(word)
    return found


def stems(text):
    return {w[:5] for w in words(text) if w not in OPENERS}


def flat(text):
    return " ".join(text.split())


def is_verbatim(note, section):
    section = flat(section)
    return all(part.strip() in section for part in re.split(r" ?\.\.\. ?", note) if part.strip())


def judge(notes, texts):
    """Counts over the notes of one book."""
    own, other, nearest = 0.0, 0.0, 0
    sections = [stems(text) for text in texts]
    for i, note in enumerate(notes):
        said = stems(note["text"]) or {""}
        shares = [len(said & section) / len(said) for section in sections]
        own += shares[i]
        other += (sum(shares) - shares[i]) / max(1, len(shares) - 1)
        nearest += shares[i] == max(shares)
    count = max(1, len(notes))
    written = [(n, t) for n, t in zip(notes, texts) if n["origin"] == "written"]
    quoted = [(n, t) for n, t in zip(notes, texts) if n["origin"] == "quoted"]
    return {"notes": len(notes), "written": len(written),
            "with_invented": sum(bool(missing(n["text"], (n["section"] or "") + "\n" + t)) for n, t in written),
            "not_verbatim": sum(not is_verbatim(n["text"], t) for n, t in quoted),
            "own": own / count, "other": other / count, "nearest": nearest / count}


def covers(notes):
    """Whether the notes are about the whole document, without gaps."""
    at = 0
    for note in notes:
        if note["tokens"][0] != at:
            return False
        at = note["tokens"][1]
    return True


def main():
    given = sys.argv[1:]
    more = given[given.index("--") + 1:] if "--" in given else []
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("books", nargs="+")
    parser.add_argument("--model")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args(given[:len(given) - len(more) - bool("--" in given)])
    model = ["--model", options.model] if options.model else []
    for book in options.books:
        begin = time.monotonic()
        run = subprocess.run([options.program, "summarize", book, "--outline", "--json", *model, *more],
                             capture_output=True, check=False)
        if run.returncode:
            sys.exit("%s: %s" % (book, run.stderr.decode(errors="replace")[-400:]))
        result = json.loads(run.stdout)
        content = pathlib.Path(book).read_bytes()
        notes = result["outline"]
        texts = [content[slice(*n["bytes"])].decode(errors="replace") for n in notes]
        found = judge(notes, texts)
        answer = result["answers"][0]
        name = pathlib.Path(book).stem
        print("%s: %d tokens, %d notes (%d written), complete %s; invented in %d written, not verbatim %d quoted; words in "
              "own section %.2f, in others %.2f, nearest %.2f; summary %s, %d levels, %d sentences left out; notes %.0f s, "
              "summary %.0f s, in all %.0f s"
              % (name, result["coverage"]["tokens_read"], found["notes"], found["written"], covers(notes),
                 found["with_invented"], found["not_verbatim"], found["own"], found["other"], found["nearest"],
                 answer["origin"], answer["levels"], answer["sentences_left_out"], result["notes"]["seconds"],
                 result["notes"]["summary_seconds"], time.monotonic() - begin), flush=True)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / (name + ".json")).write_text(json.dumps(result, indent=1, ensure_ascii=False))
            (options.out / (name + ".md")).write_text("%s\n" % answer["text"])


if __name__ == "__main__":
    main()
