"""What palimpsest-reader writes about a document, without the command that starts it (docs/formats.md)."""
import os
import struct
import subprocess

KINDS = ["hello", "fact", "text", "heading", "page", "note", "progress", "end", "problem"]


def reader_of(program):
    """The reader that belongs to the program: below the nearest folder above it that has one."""
    folder = os.path.dirname(os.path.abspath(program))
    while folder != "/":
        reader = os.path.join(folder, "libexec", "palimpsest", "palimpsest-reader")
        if os.path.exists(reader):
            return reader
        folder = os.path.dirname(folder)
    raise FileNotFoundError("palimpsest-reader")


def frames(reader, path):
    """Yields every message; fails if the reader does not end well or says no last word."""
    with open(path, "rb") as document:
        result = subprocess.run([reader, os.path.splitext(path)[1].lower()], stdin=document, stdout=subprocess.PIPE,
                                timeout=300)
    written, at, kind = result.stdout, 0, 0
    assert result.returncode == 0, (path, result.returncode)
    while at < len(written):
        kind, length = struct.unpack_from("<BI", written, at)
        yield KINDS[kind], written[at + 5:at + 5 + length]
        at += 5 + length
    assert KINDS[kind] in ("end", "problem"), (path, KINDS[kind])


class Read:
    """A document as it was read: text, sections as (level, title, first byte), labels of pages, facts by number, and how
    many notes there were."""

    def __init__(self, reader, path):
        self.text, self.sections, self.pages, self.facts, self.notes = "", [], [], {}, 0
        problem = None
        for kind, payload in frames(reader, path):
            if kind == "text":
                self.text += payload.decode()
            elif kind == "heading":
                self.sections.append((payload[0], payload[5:].decode(), len(self.text.encode())))
            elif kind == "page":
                self.pages.append(payload[4:].decode())
            elif kind == "fact":
                self.facts.setdefault(payload[0], payload[5:].decode())
            elif kind == "note":
                self.notes += 1
            elif kind == "problem":
                problem = payload
        if problem:
            raise ValueError(problem)
