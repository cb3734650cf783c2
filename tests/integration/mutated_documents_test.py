#!/usr/bin/env python3
"""Documents with random changes, given to the program, which starts the real reader: each is read, or refused with one
sentence and a documented code. Every run makes the same documents.
Usage: mutated_documents_test.py PALIMPSEST MODEL_FIXTURES DOCUMENTS [FORMAT=COUNT ...]"""
import collections
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zipfile

from document_files import zipped
from own_environment import own_environment
from patience import PATIENCE
from reader_frames import reader_of

SEED = 19
LARGEST = 60_000  # bytes of a document to change, so that a run takes minutes
AT_ONCE = os.cpu_count() or 1
SENTENCE = re.compile(r"palimpsest: .+ \[(PAL-DOC-\d\d)\]")
CODES = {"PAL-DOC-01", "PAL-DOC-02", "PAL-DOC-03", "PAL-DOC-08", "PAL-DOC-09", "PAL-DOC-10", "PAL-DOC-11"}
READER_FAILED = "PAL-DOC-11"
ZIPPED = ("epub", "docx", "odt")


def change(content, source, others):
    """One to four changes: a bit, a byte, a number, a cut, bytes left out, or bytes of another document put in."""
    content = bytearray(content)
    for _ in range(source.randint(1, 4)):
        if not content:
            break
        at, kind = source.randrange(len(content)), source.randrange(6)
        if kind == 0:
            content[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            content[at] = source.randrange(256)
        elif kind == 2:
            number = source.choice((0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)).to_bytes(4, "little")
            content[at:at + 4] = source.choice((number, b"%d" % int.from_bytes(number, "little")))
        elif kind == 3 and source.randrange(4) == 0:
            del content[at:]
        elif kind == 4:
            del content[at:at + source.randint(1, 64)]
        else:
            other = source.choice(others)
            begin = source.randrange(len(other))
            content[at:at] = other[begin:begin + source.randint(1, 64)]
    return bytes(content)


def change_part(archive, source):
    """The archive anew, with one of its parts changed: its checksums fit, so that the parser gets to see the change."""
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        entries = {name: parts.read(name) for name in parts.namelist() if not name.endswith("/")}
    texts = [name for name in entries if entries[name] and name.endswith(("ml", ".opf", ".ncx", ".rels"))]
    name = source.choice(texts)
    entries[name] = change(entries[name], source, [entries[other] for other in texts])
    return zipped(entries)


def mutations(folder, kind, count):
    """Yields `count` pairs of a name and the bytes of a document."""
    names = sorted(name for name in os.listdir(folder) if name.endswith("." + kind))
    documents = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            documents[name] = file.read()
    names = [name for name in names if len(documents[name]) <= LARGEST]
    for number in range(count):
        source = random.Random("%d %s %d" % (SEED, kind, number))
        name = source.choice(names)
        if kind in ZIPPED and source.randrange(2):
            yield "%s %d" % (name, number), change_part(documents[name], source)
        else:
            yield "%s %d" % (name, number), change(documents[name], source, list(documents.values()))


class Trial:
    """The program, started on one document."""

    def __init__(self, program, model, folder, name, kind, content):
        self.name, self.kind = name, kind
        self.path = os.path.join(folder, "%s.%s" % (name.split()[-1], kind))
        with open(self.path, "wb") as out:
            out.write(content)
        self.process = subprocess.Popen([program, "tokenize", self.path, "--count", "--model", model],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=own_environment(folder))

    def outcome(self):
        """Returns the outcome and whether it may be."""
        said = self.process.communicate(timeout=PATIENCE)[1].decode(errors="replace")
        os.remove(self.path)
        if self.process.returncode == 0:
            return "read", "Sanitizer" not in said, said
        sentences = [line for line in said.splitlines() if line.startswith("palimpsest: ")]
        match = SENTENCE.fullmatch(sentences[-1]) if sentences else None
        if self.process.returncode != 1 or len(sentences) != 1 or not match or match[1] not in CODES:
            return "exit %d" % self.process.returncode, False, said
        if match[1] != READER_FAILED:
            return match[1], True, said
        how = re.search(r"signal \d+|exit \d+|no progress|computing time", sentences[0])
        # The PDF library is not ours, and may stop; our parsers may not.
        return "%s, %s" % (match[1], how[0] if how else sentences[0]), self.kind == "pdf", said


def run(program, model, documents, kind, count):
    outcomes, faults, begin = collections.Counter(), 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="palimpsest-test-") as folder:
        running, waiting = [], mutations(documents, kind, count)
        while True:
            running += [Trial(program, model, folder, name, kind, content)
                        for _, (name, content) in zip(range(AT_ONCE - len(running)), waiting)]
            if not running:
                break
            trial = running.pop(0)
            outcome, may_be, said = trial.outcome()
            outcomes[outcome] += 1
            if not may_be:
                faults += 1
                print("%s, mutation %s: %s\n%s" % (kind, trial.name, outcome, said), flush=True)
            elif outcome.startswith(READER_FAILED):
                print("%s, mutation %s: %s" % (kind, trial.name, outcome), flush=True)
    print("%s: %d mutations (seed %d) in %.0f s: %s" % (
        kind, count, SEED, time.monotonic() - begin, "; ".join("%d %s" % (n, what) for what, n in outcomes.most_common())), flush=True)
    assert sum(outcomes.values()) == count
    return faults


def main():
    program, fixtures, documents = sys.argv[1:4]
    counts = dict(argument.split("=") for argument in sys.argv[4:])
    if not counts:
        at_ci_level = os.environ.get("PALIMPSEST_TEST_LEVEL") == "ci"
        counts = dict.fromkeys(("pdf", "epub", "docx", "odt", "html"), 8 if at_ci_level else 40)
    shown = subprocess.run([reader_of(program), "--show-sandbox"], stdout=subprocess.PIPE, check=True).stdout
    if b"PDF: yes" not in shown:
        counts.pop("pdf", None)
    model = os.path.join(fixtures, "llama.f32.gguf")
    faults = sum(run(program, model, documents, kind, int(count)) for kind, count in counts.items())
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
