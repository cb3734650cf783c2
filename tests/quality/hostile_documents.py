#!/usr/bin/env python3
"""Measures what hostile documents cost: time, memory of the program and of the reader, and what is said. Prints the table of
docs/validation.md.
Usage: hostile_documents.py PALIMPSEST [NAME ...]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "integration"))
from document_files import PAGE, docx, epub, overlapping, pdf, pdf_of_form, pdf_of_tables  # noqa: E402
from own_environment import own_environment  # noqa: E402

MODEL = TESTS / "fixtures" / "models" / "llama.f32.gguf"
SAMPLE_SECONDS = 0.005
GIB = 1 << 30
CHAPTERS = {"a.xhtml": "<p>a</p>"}


def laughs():
    entities = "".join('<!ENTITY %s "%s">' % (chr(98 + i), ("&%s;" % chr(97 + i)) * 10) for i in range(9))
    return '<!DOCTYPE p [<!ENTITY a "lol">%s]><s>&j;</s>' % entities


def sparse(beginning):
    """Makes a file of one line of 1 GiB, of which only the beginning is on the disk; the rest reads as NUL."""
    def make(path):
        path.write_bytes(beginning)
        os.truncate(path, GIB)
    return make


def pipe(path):
    os.mkfifo(path)
    subprocess.Popen(["sh", "-c", "printf 'PK\\3\\4' > \"$0\"", path])  # ends when the program has opened it


def pages_of(kids):
    return pdf([PAGE], raw_objects=[(2, "<< /Type /Pages /Count 100000 /Kids [ %s ] >>" % kids)])


OUTLINE = [(4, "<< /First 12 0 R /Last 12 0 R >>"), (12, "<< /Title (a) /First 12 0 R /Next 12 0 R /Dest [10 0 R /Fit] >>")]

# Each has a description, a file name, and either its bytes or a function that writes the file at a path.
DOCUMENTS = [
    ("zip bomb: 64 MiB of one letter", "bomb.epub", lambda: epub({"a.xhtml": "a" * (64 << 20)})),
    ("1,000 entries that share their bytes", "overlap.epub", lambda: overlapping(1000)),
    ("an entry outside the archive", "escape.epub", lambda: epub(CHAPTERS, {"../../a": b"x"})),
    ("XML that names a file (XXE)", "xxe.epub", lambda: epub(
        CHAPTERS, doctype='<!DOCTYPE package [<!ENTITY e SYSTEM "file:///etc/passwd">]>')),
    ("entities that grow to 10⁹ (billion laughs)", "laughs.docx", lambda: docx("<w:p/>", {"word/styles.xml": laughs()})),
    ("HTML 10,000 deep", "deep.html", lambda: b"<html>" + b"<div>" * 10000 + b"x"),
    ("Word file that unpacks to 160 MB", "large.docx", lambda: docx(
        "".join("<w:p><w:r><w:t>%d</w:t></w:r></w:p>" % (i * 7919) for i in range(2500000)))),
    ("PDF: a form that draws itself", "form.pdf", lambda: pdf_of_form("5")),
    ("PDF: an object whose length is the object", "object.pdf", lambda: pdf_of_form("90 0 R")),
    ("PDF: 10,000 object tables in a circle", "tables.pdf", lambda: pdf_of_tables(10000)),
    ("PDF: a page tree in a circle", "tree.pdf", lambda: pages_of("2 0 R 10 0 R 2 0 R")),
    ("PDF: an outline in a circle", "outline.pdf", lambda: pdf([PAGE], [("a", 0)], raw_objects=OUTLINE)),
    ("HTML: one line of 1 GiB", "line.html", lambda: sparse(b"<html><p>word")),
    ("text: one line of 1 GiB", "line.txt", lambda: sparse(b"word ")),
    ("a pipe", "pipe.epub", lambda: pipe),
    ("a folder", "folder.epub", lambda: os.mkdir),
]

# Each has a description and the shell script that runs in place of palimpsest-reader.
READERS = [
    ("a reader that crashes", "kill -SEGV $$"),
    ("a reader that is silent", "exec sleep 1000"),
    ("a reader that writes no messages", "exec yes"),
    ("a reader that ends at once", "exit 0"),
]


class Memory:
    """The most memory of the program and of the process that it started. The kernel keeps the peak of each; what grows after
    the last look is missed."""

    def __init__(self, process):
        self.process, self.program, self.reader = process, 0, 0

    def look(self):
        self.program = max(self.program, self.peak(self.process.pid))
        try:
            with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
                children = file.read().split()
        except OSError:
            return
        own = self.program_of(self.process.pid)
        # Before it starts the reader, a child is a copy of the program, with its memory.
        self.reader = max([self.reader, *(self.peak(int(child)) for child in children if self.program_of(int(child)) != own)])

    @staticmethod
    def program_of(pid):
        try:
            return os.readlink("/proc/%d/exe" % pid)
        except OSError:
            return None

    @staticmethod
    def peak(pid):
        try:
            with open("/proc/%d/status" % pid) as file:
                found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
            return int(found[1]) if found else 0
        except OSError:
            return 0


def measure(program, path, folder):
    """Returns a row of the table, without its name."""
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        process = subprocess.Popen([program, "tokenize", path, "--count", "--model", MODEL], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=errors, env=own_environment(str(folder)))
        memory = Memory(process)
        while process.poll() is None:
            memory.look()
            time.sleep(SAMPLE_SECONDS)
        seconds = time.monotonic() - begin
        errors.seek(0)
        said = [line for line in errors.read().decode().splitlines() if line.startswith("palimpsest: ")]
    sentence = said[-1].split(": ", 2)[-1] if process.returncode else "*read*"
    return "%.2f s | %.0f MB | %s | %d | %s" % (seconds, memory.program * 1024 / 1e6,
                                                "%.0f MB" % (memory.reader * 1024 / 1e6) if memory.reader else "–",
                                                process.returncode, sentence)


def measure_document(program, name, make, folder):
    path, made = folder / name, make()
    if callable(made):
        made(path)
    else:
        path.write_bytes(made)
    return measure(program, path, folder)


def measure_reader(program, script, folder):
    """The program finds its reader in the nearest libexec above it, so a copy of it finds this one."""
    copy, reader = folder / "bin" / "palimpsest", folder / "libexec" / "palimpsest" / "palimpsest-reader"
    for file in (copy, reader):
        file.parent.mkdir(parents=True)
    shutil.copy(program, copy)
    reader.write_text("#!/bin/sh\n%s\n" % script)
    reader.chmod(0o700)
    document = folder / "book.epub"
    document.write_bytes(epub(CHAPTERS))
    return measure(copy, document, folder)


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    print("| document | time | program | reader | exit | sentence |\n|---|---|---|---|---|---|")
    for rows, measure_row in ((DOCUMENTS, measure_document), (READERS, measure_reader)):
        for what, *how in rows:
            if wanted and not any(word in what for word in wanted):
                continue
            with tempfile.TemporaryDirectory(prefix="palimpsest-hostile-") as folder:
                print("| %s | %s |" % (what, measure_row(program, *how, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
