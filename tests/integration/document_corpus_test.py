#!/usr/bin/env python3
"""Documents that other programs made are read as their sources say. tests/fixtures/documents/README.md describes them.
Usage: document_corpus_test.py PALIMPSEST DOCUMENTS [--print-misses]"""
import collections
import difflib
import json
import os
import re
import subprocess
import sys
import unittest

from reader_frames import frames, reader_of

PROGRAM, FOLDER = sys.argv[1:3]
READER = reader_of(PROGRAM)
HAS_PDF = b"PDF: yes" in subprocess.run([READER, "--show-sandbox"], stdout=subprocess.PIPE).stdout
COUNTS = ("words missed", "words invented", "words moved", "blocks missed", "headings missed", "headings invented",
          "pages missed", "pages invented", "facts wrong")


def load(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def words_of(text):
    """A no-break space is part of a word."""
    return re.findall(r"[^ \n\t]+", text)


def differences(expected, got):
    """What of `expected` is not in `got` in this order, and the other way round."""
    missed, invented = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, expected, got, autojunk=False).get_opcodes():
        if kind != "equal":
            missed += expected[a:b]
            invented += got[c:d]
    return missed, invented


class Document:
    """What the reader says. A heading or page is followed by the text that begins there."""

    def __init__(self, path):
        text, marks, self.facts = b"", [], {}
        for kind, payload in frames(READER, path):
            if kind == "text":
                text += payload
            elif kind == "heading":
                marks.append(("heading", [payload[0], payload[5:].decode()], len(text)))
            elif kind == "page":
                marks.append(("page", payload[4:].decode(), len(text)))
            elif kind == "fact":
                self.facts.setdefault(("title", "author", "language")[payload[0]], payload[5:].decode())
            elif kind == "problem":
                raise ValueError(path, payload)
        self.text = text.decode()
        begins = lambda at: text[at:].decode().lstrip("\n")
        self.headings = [(value, begins(at)) for kind, value, at in marks if kind == "heading"]
        self.pages = [(value, begins(at)) for kind, value, at in marks if kind == "page"]


def compare(expected, document):
    """Counts of everything that differs, without those that are 0, and what it is."""
    missed, invented = differences(words_of("\n".join(expected["blocks"])), words_of(document.text))
    moved = collections.Counter(missed) & collections.Counter(invented)
    lost, new = collections.Counter(missed) - moved, collections.Counter(invented) - moved
    blocks, _ = differences(expected["blocks"], [block.strip("\n") for block in document.text.split("\n\n")])
    headings = differences(list(map(tuple, expected["headings"])), [tuple(value) for value, begins in document.headings
                                                                  if begins.startswith(value[1])])
    pages = page_differences(expected["pages"], document.pages)
    facts = [(name, value, document.facts.get(name)) for name, value in expected["facts"].items()
             if document.facts.get(name) != value]
    found = dict(zip(COUNTS, (list(lost.elements()), list(new.elements()), list(moved.elements()), blocks, *headings, *pages, facts)))
    return {name: len(values) for name, values in found.items() if values}, found


def page_differences(expected, got):
    """The text with which a page begins is compared where it is known."""
    known = {label: begins for label, begins in expected}
    kept = [label for label, begins in got if begins.startswith(known.get(label, ""))]
    missed, _ = differences(list(known), kept)
    _, invented = differences(list(known), [label for label, _ in got])
    return missed, invented


class Totals:
    def __init__(self):
        self.files, self.counts = 0, collections.Counter()

    def add(self, expected, counts):
        self.files += 1
        self.counts.update(counts)
        self.counts.update({"words": len(words_of("\n".join(expected["blocks"]))), "facts": len(expected["facts"])})
        self.counts.update({name: len(expected[name]) for name in ("blocks", "headings", "pages")})

    def rate(self, name):
        whole = self.counts[name.split()[0]]
        return "%d (%.2f %%)" % (self.counts[name], 100 * self.counts[name] / whole) if whole else str(self.counts[name])


def print_table(totals):
    print("%-18s" % "" + "".join("%18s" % ending for ending in totals))
    print("%-18s" % "files" + "".join("%18d" % of.files for of in totals.values()))
    for name in ("words", "blocks", "headings", "pages", "facts"):
        print("%-18s" % name + "".join("%18d" % of.counts[name] for of in totals.values()))
    for name in COUNTS:
        print("%-18s" % name + "".join("%18s" % of.rate(name) for of in totals.values()))


def files():
    return [name for name in load("expected.json") if HAS_PDF or not name.endswith(".pdf")]


class CorpusTest(unittest.TestCase):
    def test_every_document_is_read_as_its_source_says_but_for_the_known_misses(self):
        expected, known, totals = load("expected.json"), load("known_misses.json"), collections.defaultdict(Totals)
        for name in files():
            with self.subTest(name):
                counts, found = compare(expected[name], Document(os.path.join(FOLDER, name)))
                totals[name.rsplit(".")[-1]].add(expected[name], counts)
                self.assertEqual(counts, known.get(name, {}), {of: found[of][:8] for of in counts})
        print_table(totals)

    def test_every_document_has_an_expectation(self):
        there = {name for name in os.listdir(FOLDER) if name.rsplit(".")[-1] in ("epub", "docx", "odt", "html", "pdf")}
        self.assertEqual(there, set(load("expected.json")))
        self.assertLessEqual(set(load("known_misses.json")), there)

    def test_a_difference_of_each_kind_is_counted(self):
        document = Document(os.path.join(FOLDER, "fpdf-harbour.pdf" if HAS_PDF else "ebooklib-harbour.epub"))
        same = {"blocks": document.text.split("\n\n"), "facts": dict(document.facts), "pages": [[p[0], p[1][:9]] for p in document.pages],
                "headings": [heading for heading, _ in document.headings]}
        same["blocks"] = [block.strip("\n") for block in same["blocks"]]
        self.assertEqual(compare(same, document)[0], {})
        blocks = same["blocks"]
        first, second = blocks[1].split(" ", 1)
        changes = {
            "words missed": {"blocks": blocks + ["more"]},
            "words invented": {"blocks": blocks[:1] + [second] + blocks[2:]},
            "words moved": {"blocks": blocks[1:] + blocks[:1]},
            "blocks missed": {"blocks": blocks[:1] + [first, second] + blocks[2:]},
            "headings missed": {"headings": [[5, "None"]] + same["headings"]},
            "headings invented": {"headings": same["headings"][1:]},
            "pages missed": {"pages": [[label, "none"] for label, _ in same["pages"]]},
            "pages invented": {"pages": same["pages"][1:]},
            "facts wrong": {"facts": {**same["facts"], "title": "Another"}}}
        self.assertEqual(set(changes), set(COUNTS))
        for name, change in changes.items():
            self.assertIn(name, compare({**same, **change}, document)[0])


def print_misses():
    """What known_misses.json must say now; what is missed goes to the standard error."""
    expected, misses = load("expected.json"), {}
    for name in files():
        counts, found = compare(expected[name], Document(os.path.join(FOLDER, name)))
        if counts:
            misses[name] = counts
            print(name, json.dumps({of: found[of] for of in counts}, ensure_ascii=False), file=sys.stderr)
    print("{\n%s\n}" % ",\n".join('"%s": %s' % (name, json.dumps(misses[name])) for name in sorted(misses)))


if __name__ == "__main__":
    if "--print-misses" in sys.argv:
        print_misses()
    else:
        unittest.main(argv=sys.argv[:1])
