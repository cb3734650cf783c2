#!/usr/bin/env python3
"""Prints random comments of the C++ and CUDA files, each with the code behind it, for tests with readers who do not
know the code (standard library only).

    comment_sample.py [--root FOLDER] [--seed SEED] [--folder FOLDER]... [COUNT]
"""
import argparse
import pathlib
import random
import re
import sys

import sources
import structure

CODE_LINES = 2
# Comments that are no sentences: the ends of namespaces, and marks for tools.
NO_SENTENCE = re.compile(r"(namespace\b|NOLINT|clang-format (on|off)|extern \"C\"$)|^\W*$")


def comments(root, folders):
    """(file, first line, last line) of every block of comments, in the order of files and lines."""
    found = []
    for name in sources.list_files(root):
        if name.endswith(sources.CPP) and any(name.startswith(folder + "/") for folder in folders):
            for block in sources.cpp_blocks(sources.read(root / name)):
                if block.kind == "comment" and not NO_SENTENCE.match(block.text):
                    found.append((name, block.first, block.last))
    return found


def lines_to_show(root, comment):
    """The lines of a comment, and the next CODE_LINES that are not blank."""
    file, first, last = comment
    lines = sources.read(root / file).split("\n")
    behind = [line for line in lines[last:] if line.strip()][:CODE_LINES]
    return lines[first - 1 : last] + behind


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=50, metavar="COUNT", help="comments to print (50)")
    parser.add_argument("--seed", type=int, help="prints the same comments again while the files are the same")
    parser.add_argument("--root", default=sources.REPOSITORY, metavar="FOLDER", help="another checkout to read")
    parser.add_argument("--folder", action="append", metavar="FOLDER", help="only comments below; may be repeated")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    folders = [folder.rstrip("/") for folder in options.folder or (*structure.FOLDERS, "tests")]
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    found = comments(root, folders)
    chosen = random.Random(seed).sample(found, min(options.count, len(found)))
    print(f"{len(chosen)} of {len(found)} comments, seed {seed}")
    for number, comment in enumerate(chosen, 1):
        print(f"\n{number}. {comment[0]}:{comment[1]}")
        for line in lines_to_show(root, comment):
            print(f"    {line}")
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main())
