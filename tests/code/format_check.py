#!/usr/bin/env python3
"""Compares all C++ and CUDA files with .clang-format. Ends with 1 if a file differs, and with 77 (skipped) without
clang-format 14, since other versions format differently (standard library only)."""
import re
import shutil
import subprocess
import sys

import sources

VERSION = "14"
SKIPPED = 77


def find_tool(tool):
    """The path of clang-format or clang-tidy in version 14, or None."""
    for name in (f"{tool}-{VERSION}", tool):
        path = shutil.which(name)
        if path is not None:
            answer = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", answer):
                return path
    return None


def main():
    program = find_tool("clang-format")
    if program is None:
        print(f"skipped: there is no clang-format {VERSION} on PATH")
        return SKIPPED
    root = sources.REPOSITORY
    names = [name for name in sources.list_files(root) if name.endswith(sources.CPP)]
    differing = set()
    for start in range(0, len(names), 100):
        command = [program, "--dry-run", "-Werror", "--ferror-limit=1", *names[start : start + 100]]
        run = subprocess.run(command, cwd=root, capture_output=True, text=True)
        reported = set(re.findall(r"^(.+?):\d+:\d+: error: code should be clang-formatted", run.stderr, re.MULTILINE))
        if run.returncode and not reported:
            print(run.stderr, end="")
            return 1
        differing |= reported
    for name in sorted(differing):
        print(f"{name}: clang-format would change it")
    print(f"{len(differing)} of {len(names)} files differ from .clang-format")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
