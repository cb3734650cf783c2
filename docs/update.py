#!/usr/bin/env python3
"""Writes the generated parts of a document of this folder anew: what the program prints about itself, and source files.
They stand between `<!-- begin: WHAT -->` and `<!-- end -->`, where WHAT is `palimpsest ARGUMENT...` or a file's path.
Usage: update.py PROGRAM DOCUMENT [--check]; with --check nothing is written, and a difference is shown and exits 1."""
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PART = re.compile(r"(<!-- begin: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def generated(what, program):
    if what.startswith("palimpsest "):
        return subprocess.run([program, *what.split()[1:]], stdout=subprocess.PIPE, check=True).stdout.decode()
    return "```cpp\n" + read(os.path.join(ROOT, what)) + "```\n"


def check_marks(text, name):
    parts, begins, ends = len(PART.findall(text)), text.count("<!-- begin:"), text.count("<!-- end -->")
    if parts == 0 or not parts == begins == ends:
        sys.exit("%s has %d marks that begin a part and %d that end one, and %d parts between them"
                 % (name, begins, ends, parts))


def main():
    program, document = os.path.abspath(sys.argv[1]), sys.argv[2]
    before = read(document)
    check_marks(before, document)
    after = PART.sub(lambda part: part[1] + generated(part[2], program) + part[3], before)
    if "--check" not in sys.argv:
        with open(document, "w", encoding="utf-8") as file:
            file.write(after)
        return 0
    name = os.path.relpath(document, ROOT)
    difference = list(difflib.unified_diff(before.splitlines(), after.splitlines(), name, "as generated", lineterm=""))
    print("\n".join(difference))
    if difference:
        print("%s is not what the code says; run docs/update.py PROGRAM %s" % (name, name))
    return 1 if difference else 0


sys.exit(main())
