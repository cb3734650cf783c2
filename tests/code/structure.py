#!/usr/bin/env python3
"""Prints the structure of the source tree as Markdown: sizes of files, classes and functions, and include cycles. Ends
with 1 if an include cycle crosses folders and is not one of KNOWN_CYCLES (standard library only).

    structure.py [--root FOLDER]

Sources are the C++ and CUDA files of FOLDERS. Functions are counted from their first line to the closing brace, classes
as their headers declare them: every member function, signals and deleted ones included, and every data member, static
ones included. A unit is a header with the source file of the same name.
"""
import argparse
import collections
import pathlib
import re
import statistics
import sys

import references
import sources

FOLDERS = ("app", "engine", "kernels", "storage", "ui")
# Folders or units of different folders that include one another, and why. A cycle of some of them only is known, too.
KNOWN_CYCLES = {}

OPENING, CLOSING = {"(", "[", "{"}, {")", "]", "}"}
ACCESS = {"public", "private", "protected", "signals", "Q_SIGNALS"}
# What may stand before the brackets of something else than a function's parameters.
NO_FUNCTION = {
    "alignas", "__align__", "__attribute__", "__launch_bounds__", "decltype", "explicit", "noexcept", "requires"
}
NO_MEMBER = {"using", "typedef", "friend", "static_assert", "class", "struct", "union", "enum"}


def code_tokens(text):
    """Tokens of code: without comments, directives, and all but the first branch of conditional compilation."""
    kept, skips = [], []  # skips: for each open #if, whether its first branch has ended
    for token in sources.cpp_tokens(text):
        if token.kind == "directive":
            name = re.match(r"\s*#\s*(\w*)", token.text).group(1)
            if name in ("if", "ifdef", "ifndef"):
                skips.append(False)
            elif name in ("else", "elif") and skips:
                skips[-1] = True
            elif name == "endif" and skips:
                skips.pop()
        elif token.kind != "comment" and not any(skips):
            kept.append(token)
    return kept


class Declaration:
    """One declaration in a namespace or a class."""

    def __init__(self):
        self.words = []  # text without the content of brackets, template arguments, initialisers and bodies
        self.first_line = self.last_line = 0
        self.body = None  # indices of the first token behind the "{" and of the "}"
        self.is_function = False
        self.name = ""  # of a function
        self.declarators = 1
        self.kind = None  # class, struct, union, enum, namespace, or None

    def class_name(self):
        words = self.words[self.words.index(self.kind) + 1 :]
        for end in (":", "{"):
            if end in words:
                words = words[: words.index(end)]
        names = [w for w in words if re.match(r"[A-Za-z_]", w) and w not in NO_FUNCTION | {"final", "class"}]
        return names[-1] if names else ""

    def begins_with(self, words):
        """Whether the first word is one of `words`; "template" and attributes do not count."""
        return next((word for word in self.words if word not in ("template", "[")), "") in words


class Parser:
    """Splits the tokens of a file into declarations; looks into namespaces and classes, not into functions."""

    def __init__(self, text):
        self.tokens = code_tokens(text)
        self.closed = {}
        open_at = []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark_of_code" and token.text in OPENING:
                open_at.append(i)
            elif token.kind == "mark_of_code" and token.text in CLOSING and open_at:
                self.closed[open_at.pop()] = i

    def text(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def declarations(self, start=0, end=None):
        i, end = start, len(self.tokens) if end is None else end
        while i < end:
            declaration, i = self.declaration(i, end)
            if declaration.words:
                yield declaration

    def behind_angles(self, i):
        """The index behind the template arguments that begin at `i`; i + 1 if "<" is an operator."""
        depth, at = 0, i
        while at < len(self.tokens):
            text = self.text(at)
            if text in OPENING and text != "{" and at in self.closed:
                at = self.closed[at]
            elif text == "<":
                depth += 1
            elif text in (">", ">>", ">="):
                depth -= 2 if text == ">>" else 1
                if depth <= 0:
                    return at + 1
            elif text in (";", "{", "}"):
                return i + 1
            at += 1
        return i + 1

    def name_before(self, i):
        """The name of the function whose parameters begin at `i`, with its scope."""
        start = i - 1
        while start >= 2 and self.text(start - 1) in ("::", "~"):
            start -= 2 if self.text(start - 1) == "::" else 1
        return "".join(self.text(at) for at in range(start, i))

    def is_initialiser(self, i):
        """Whether the "{" at `i` initialises a member in a constructor's list, as in ": a_{1}, b_(2) {"."""
        if self.tokens[i - 1].kind != "name" and self.text(i - 1) not in (">", ">>"):
            return False
        return self.text(self.closed[i] + 1) in (",", "{")

    def declaration(self, i, end):
        """The declaration that begins at `i`, and the index behind it."""
        found, assigned, in_list = Declaration(), False, False
        while i < end:
            text, words = self.text(i), found.words
            if not words and text in ACCESS and (self.text(i + 1) == ":" or self.text(i + 2) == ":"):
                i += 2 if self.text(i + 1) == ":" else 3
                continue
            if not words and text.startswith("Q_") and text.isupper():
                i = self.closed[i + 1] + 1 if self.text(i + 1) == "(" else i + 1
                continue
            if not words:
                found.first_line = self.tokens[i].line
            found.last_line = self.tokens[i].line
            if text == ";":
                return found, i + 1
            if text == "<" and words and words[-1] not in ("operator", "=") and not assigned:
                i = self.behind_angles(i)
                continue
            if text == "{" and i in self.closed:
                kind = next((w for w in words if w in ("namespace", "class", "struct", "union", "enum")), None)
                is_extern = words and words[0] == "extern" and not found.is_function
                if not found.is_function and not assigned and found.body is None and (kind or is_extern):
                    found.kind, found.body = kind or "namespace", (i + 1, self.closed[i])
                    words.append("{")
                    i = self.closed[i] + 1
                    if found.kind == "namespace":
                        return found, i
                    continue
                if found.is_function and not assigned and not (in_list and self.is_initialiser(i)):
                    found.body, found.last_line = (i + 1, self.closed[i]), self.tokens[self.closed[i]].line
                    return found, self.closed[i] + 1
                i = self.closed[i] + 1
                continue
            if text in ("(", "[") and i in self.closed:
                before = self.tokens[i - 1]
                is_operator = "operator" in words
                if text == "(" and not assigned and (
                    is_operator or before.kind == "name" and before.text not in NO_FUNCTION or before.text == ">"
                ) and not (self.text(i + 1) == "*" and not found.is_function) and words:
                    if is_operator and words[-1] == "operator":
                        words.append("()")
                        i = self.closed[i] + 1
                        continue
                    if not found.is_function:
                        found.name = self.name_before(i)
                    found.is_function = True
                words.append(text)
                i = self.closed[i] + 1
                continue
            if text == "=" and "operator" not in words[-1:]:
                assigned = True
            elif text == "," and not found.is_function:
                found.declarators += 1
                assigned = False
            elif text == ":" and found.is_function:
                in_list = True
            words.append(text)
            i += 1
        return found, i


ClassSize = collections.namedtuple("ClassSize", "methods fields name file")
FunctionSize = collections.namedtuple("FunctionSize", "lines name file line")


class Source:
    """Sizes and includes of one file."""

    def __init__(self, root, file):
        text = sources.read(root / file)
        self.file = file
        self.lines = len(text.splitlines())
        self.includes = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', text, re.MULTILINE)
        code, comments = set(), set()
        for token in sources.cpp_tokens(text):
            (comments if token.kind == "comment" else code).update(range(token.line, token.last_line + 1))
        self.comment_lines = len(comments - code)
        self.classes, self.functions = [], []
        self.parser = Parser(text)
        self.visit(0, len(self.parser.tokens))

    def visit(self, start, end, owner=None):
        methods = fields = 0
        for found in self.parser.declarations(start, end):
            if found.kind == "namespace":
                self.visit(*found.body)
            elif found.kind in ("class", "struct", "union"):
                self.visit(*found.body, found.class_name())
                fields += found.words[-1] != "{"
            elif found.is_function:
                methods += not found.begins_with(NO_MEMBER)
                if found.body:
                    lines = found.last_line - found.first_line + 1
                    self.functions.append(FunctionSize(lines, found.name, self.file, found.first_line))
            elif found.kind is None and not found.begins_with(NO_MEMBER):
                fields += found.declarators
        if owner:
            self.classes.append(ClassSize(methods, fields, owner, self.file))


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def unit_of(file):
    return str(pathlib.PurePosixPath(file).with_suffix(""))


def include_graphs(files):
    """Which units, and which folders, include which others."""
    known = {source.file for source in files}
    units, folders = collections.defaultdict(set), collections.defaultdict(set)
    for source in files:
        for name in source.includes:
            target = next((t for t in (name, f"{folder_of(source.file)}/{name}") if t in known), None)
            if target is None:
                continue
            for graph, part in ((units, unit_of), (folders, folder_of)):
                if part(source.file) != part(target):
                    graph[part(source.file)].add(part(target))
    return units, folders


def cycles(graph):
    """The largest sets of nodes that reach one another (Tarjan 1972), each sorted."""
    number, lowest, stack, found = {}, {}, [], []
    sys.setrecursionlimit(20000)  # a chain of includes can have as many units as there are

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in number:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], number[target])
        if lowest[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return sorted(found)


def new_cycles(unit_cycles, folder_cycles):
    """Cycles that cross folders and are not known."""
    crossing = [cycle for cycle in unit_cycles if len({folder_of(unit) for unit in cycle}) > 1]
    return [c for c in crossing + folder_cycles if not any(set(c) <= set(known) for known in KNOWN_CYCLES)]


def percentile(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * share // 100) - 1, 0)]


def listed(items, text):
    return "<br>".join(text(item) for item in items)


def cycle_text(cycle):
    return " ↔ ".join(cycle)


def table(root, files, test_lines, unit_cycles, folder_cycles):
    lines = [source.lines for source in files]
    total = sum(lines)
    largest = sorted(files, key=lambda s: (-s.lines, s.file))[:10]
    classes = [c for source in files if source.file.endswith((".h", ".cuh")) for c in source.classes]
    functions = [f for source in files for f in source.functions]
    unresolved = references.find(root)
    return [
        ("source files", f"{len(files):,}"),
        ("lines", f"{total:,}"),
        ("lines per file, median", f"{statistics.median(lines):g}"),
        ("lines per file, 90th percentile", f"{percentile(lines, 90)}"),
        ("largest files", listed(largest, lambda s: f"{s.file} {s.lines}")),
        ("largest classes, methods/fields",
         listed(sorted(classes, key=lambda c: (-c.methods, c.name))[:10],
                lambda c: f"{c.name} {c.methods}/{c.fields} ({c.file})")),
        ("longest functions, lines",
         listed(sorted(functions, key=lambda f: (-f.lines, f.file))[:10],
                lambda f: f"{f.name} {f.lines} ({f.file}:{f.line})")),
        ("comment lines", f"{100 * sum(s.comment_lines for s in files) / total:.1f} %"),
        ("lines of test per line of source", f"{test_lines / total:.2f}"),
        ("include cycles between units", f"{len(unit_cycles)}<br>" + listed(unit_cycles, cycle_text)),
        ("include cycles between folders", f"{len(folder_cycles)}<br>" + listed(folder_cycles, cycle_text)),
        ("unresolved references", f"{len(unresolved)}"),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=sources.REPOSITORY, metavar="FOLDER", help="another checkout to measure")
    root = pathlib.Path(parser.parse_args().root).resolve()
    names = [name for name in sources.list_files(root) if name.endswith(sources.CPP)]
    files = [Source(root, name) for name in names if name.split("/")[0] in FOLDERS]
    if not files:
        print(f"{root} has no source files in {', '.join(FOLDERS)}")
        return 1
    test_lines = sum(len(sources.read(root / name).splitlines()) for name in names if name.startswith("tests/"))
    units, folders = include_graphs(files)
    unit_cycles, folder_cycles = cycles(units), cycles(folders)
    print("| what | value |\n|---|---|")
    for name, value in table(root, files, test_lines, unit_cycles, folder_cycles):
        print(f"| {name} | {value} |")
    unknown = new_cycles(unit_cycles, folder_cycles)
    for cycle in unknown:
        print(f"include cycle across folders: {cycle_text(cycle)}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
