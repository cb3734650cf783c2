#!/usr/bin/env python3
"""Runs clang-tidy over the files that differ from a base commit, with the checks in .clang-tidy (standard library
only). Needs the compile_commands.json of a configured build without PALIMPSEST_UNITY, such as the preset debug.

    tidy.py [--build FOLDER] [--base COMMIT | --all | FILE...] [--most N] [--seconds S] [--jobs N]

Without --base, the base is where this branch left origin's main branch, or, on that branch itself, the commit before.
A changed header is checked through one source file that includes it; the emulator of CUDA is not checked. Files with
the most changed lines come first; when N files or S seconds are used up, the rest is left out, and named. Ends with 1
if there is a finding, and with 77 (skipped) without clang-tidy 14 or without a base.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import format_check
import sources

FINDING = re.compile(r"^(.+?):(\d+):\d+: (?:warning|error): (.+)$", re.MULTILINE)
TROUBLE = re.compile(r"^error: .+$", re.MULTILINE)
UNBUILT = re.compile(r"^'\w+\.moc' file not found")  # at the end of a window test, in a build that is only configured
LONGEST = 600  # seconds for one file
EMULATOR = "tests/support/simt/"  # has CUDA's reserved names, and std::source_location, which clang 14 cannot compile


def git(root, *arguments):
    """The output of git, or None if it fails."""
    run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def default_base(root):
    for branch in ("origin/HEAD", "origin/main", "origin/master"):
        base = git(root, "merge-base", "HEAD", branch)
        if base and base != git(root, "rev-parse", "HEAD"):
            return base
    return git(root, "rev-parse", "--verify", "-q", "HEAD^")


def changed_files(root, base):
    """Path -> number of changed lines, of the working tree against `base`; None if git does not know it."""
    listed = git(root, "diff", "--numstat", "--no-renames", "--diff-filter=d", base)
    if listed is None:
        return None
    changed = {}
    for line in listed.splitlines():
        added, removed, name = line.split("\t")
        changed[name] = int(added) + int(removed) if added.isdigit() else 0
    for name in (git(root, "ls-files", "--others", "--exclude-standard") or "").splitlines():
        changed[name] = len(sources.read(root / name).splitlines())
    return {name: lines for name, lines in changed.items() if name.endswith(sources.CPP)}


class Database:
    """The C++ files that a build compiles, with their commands."""

    def __init__(self, root, build):
        self.root = root
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
            path = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if path.suffix == ".cpp" and path.is_relative_to(root) and not path.is_relative_to(build.resolve()):
                self.commands.setdefault(str(path.relative_to(root)), entry)
        self.includes = None

    def unit_of(self, name):
        """The source file to check for a changed file, or None."""
        if name in self.commands:
            return name
        own = re.sub(r"(?:-inl)?\.\w+$", ".cpp", name)
        if own in self.commands:
            return own
        if self.includes is None:
            include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
            self.includes = {unit: set(include.findall(sources.read(self.root / unit))) for unit in self.commands}
        including = [unit for unit, names in self.includes.items() if name in names]
        return min(including, key=lambda unit: ((self.root / unit).stat().st_size, unit), default=None)

    def write_for_clang(self, units, folder):
        """Writes the commands of `units`, without headers that GCC has precompiled: clang cannot read them."""
        entries = []
        for unit in units:
            entry = dict(self.commands[unit])
            arguments = entry.pop("arguments", None) or shlex.split(entry.pop("command"))
            for i in range(1, len(arguments)):
                if arguments[i - 1] == "-include" and os.path.isfile(arguments[i]):
                    copy = folder / re.sub(r"\W", "_", arguments[i])
                    shutil.copy(arguments[i], copy.with_suffix(".h"))
                    arguments[i] = str(copy.with_suffix(".h"))
            entries.append(entry | {"arguments": arguments, "file": str(self.root / unit)})
        (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


def select(database, changed):
    """The source files to check in their order, and the changed files that no source file includes."""
    lines, alone = {}, []
    for name, count in changed.items():
        if name.startswith(EMULATOR):
            continue
        unit = database.unit_of(name)
        if unit is None:
            alone.append(name)
        else:
            lines[unit] = lines.get(unit, 0) + count
    return sorted(lines, key=lambda unit: (-lines[unit], unit)), sorted(alone)


def check(program, root, folder, unit):
    """What clang-tidy finds in a source file and its headers: (place, problem)."""
    command = [program, "-p", str(folder), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(root / unit)]
    try:
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {(unit, f"clang-tidy did not end within {LONGEST} s")}
    found = {(unit, line) for line in TROUBLE.findall(run.stdout + run.stderr)}
    unbuilt = False
    for path, line, problem in FINDING.findall(run.stdout):
        if UNBUILT.match(problem):
            unbuilt = True
            continue
        path = pathlib.Path(root, path).resolve()  # a build refers to headers by links
        if path.is_relative_to(root) and not str(path.relative_to(root)).startswith(EMULATOR):
            found.add((f"{path.relative_to(root)}:{line}", problem))
    if run.returncode and not found and not unbuilt:
        found.add((unit, f"clang-tidy ended with {run.returncode}: {run.stderr.strip()[-300:]}"))
    return found


def check_all(program, database, units, seconds, jobs):
    """The findings, and the units that there was no time for."""
    end = time.monotonic() + seconds
    found, left_out = set(), []

    def check_one(unit):
        if time.monotonic() > end:
            left_out.append(unit)
            return
        new = check(program, database.root, pathlib.Path(folder), unit) - found
        found.update(new)
        for place, problem in sorted(new):
            print(f"{place}: {problem}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        database.write_for_clang(units, pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(check_one, units))
    return found, sorted(left_out)


def print_left_out(names, why):
    if names:
        print(f"NOT checked, {why}: {len(names)} files")
        for name in names:
            print(f"  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=sources.REPOSITORY, metavar="FOLDER", help="another checkout to check")
    parser.add_argument("--build", default="build/debug", metavar="FOLDER", help="a build of it")
    parser.add_argument("--base", metavar="COMMIT", help="check what differs from this commit")
    parser.add_argument("--all", action="store_true", help="check everything that the build compiles")
    parser.add_argument("files", nargs="*", metavar="FILE", help="check these files")
    parser.add_argument("--most", type=int, default=100, metavar="N", help="source files (default: 100)")
    parser.add_argument("--seconds", type=float, default=900, metavar="S", help="in total (default: 900)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    program = format_check.find_tool("clang-tidy")
    if program is None:
        print(f"skipped: there is no clang-tidy {format_check.VERSION} on PATH")
        return format_check.SKIPPED
    if not (root / options.build / "compile_commands.json").is_file():
        sys.exit(f"{options.build} has no compile_commands.json; configure it first")
    database = Database(root, root / options.build)
    if options.all:
        changed = dict.fromkeys(database.commands, 0)
    elif options.files:
        changed = {os.path.relpath(os.path.abspath(name), root): 0 for name in options.files}
    else:
        base = options.base or default_base(root)
        changed = changed_files(root, base) if base else None
        if changed is None:
            print("skipped: git knows no base commit to compare with; name one with --base")
            return format_check.SKIPPED
        print(f"{len(changed)} C++ and CUDA files differ from {base[:12]}")
    units, alone = select(database, changed)
    found, late = check_all(program, database, units[: options.most], options.seconds, options.jobs)
    checked = min(len(units), options.most) - len(late)
    print_left_out(alone, "because this build compiles no C++ file with them")
    print_left_out(units[options.most :], f"because {options.most} files are the limit")
    print_left_out(late, f"because {options.seconds:g} s are the limit")
    print(f"{len(found)} findings in {checked} of {len(units)} source files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
