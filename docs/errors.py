#!/usr/bin/env python3
"""Writes the generated part of docs/errors.md: every error code with its sentences and remedies.
It stands between `<!-- begin: docs/errors.py -->` and `<!-- end -->`.
Usage: errors.py [--check] [--root FOLDER]; with --check nothing is written, and a difference is shown and exits 1.
tests/code/error_sites.py finds what the source code reports."""
import argparse
import difflib
import pathlib
import re
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/code"))
import error_sites  # noqa: E402
import sources  # noqa: E402
from error_sites import HOLE, Trouble, has_words  # noqa: E402

PAGE = "docs/errors.md"
EXIT_CODES = "app/palimpsest/exit_code.cpp"
BEGIN, END = "<!-- begin: docs/errors.py -->\n", "<!-- end -->"
MENTIONS = ("app/", "ui/", "storage/", "engine/", "kernels/", "tests/", "docs/", "README.md")
MANY_ALIKE = 4
CODE = re.compile(r"PAL-[A-Z]+-[A-Z]?[0-9]+\b")

# What each group of codes is about, in the order of the page.
GROUPS = {
    "OPTION": "Options and arguments of the command, and values in the configuration file.",
    "USE": "Sampling options: how the next token is drawn.",
    "POLICY": "The cache policy: its name, its parameters, and its state in a snapshot. "
              "[policies.md](policies.md) describes the policies.",
    "BUDGET": "Budget, chunk and question do not fit together, or the cache of a session is full.",
    "PIN": "Pins: passages that are protected from eviction.",
    "DOC": "Documents: finding, decoding and reading them.",
    "TEXT": "Token ids that the model does not know, and streams that are too long.",
    "MODEL": "Model files and tokenizer files. Most of these codes end with the rule in [validation.md](validation.md) "
             "that the file breaks: `PAL-MODEL-10` is rule G10, `PAL-MODEL-S4` is rule S4. 00, 17 and 20 are no rules: "
             "they are about finding a model, and about the device that it runs on.",
    "TEMPLATE": "The chat template of a model. The model remains usable: its turns are framed plainly, and a warning "
                "gives the reason.",
    "SESSION": "Named sessions: their names, their messages, and what can be done with them.",
    "SNAP": "Snapshots. The text of the session is safe: an older snapshot is restored, or the text is read again.",
    "DB": "The database that holds sessions and documents, and exported sessions.",
    "DISK": "Reading and writing files.",
    "MEM": "Memory of the machine.",
    "GPU": "The GPU, its driver and the GPU plugin.",
    "MAP": "Exporting the retained-token map.",
    "RUN": "The program as a whole.",
    "CACHE": "Checks inside the cache. Such an error is a bug.",
    "KERNEL": "Checks inside the backends. Such an error is a bug.",
}


def read(root, path):
    text = sources.read(root / path) if (root / path).is_file() else ""
    if not text:
        raise Trouble(f"{path} is not there")
    return text


def code_table(root):
    """Identifier -> code, in the order of the enumeration."""
    return dict(re.findall(r'\{ErrorCode::(\w+), "(PAL-[A-Z0-9-]+)"\}', read(root, error_sites.CODE_TABLE)))


def statuses(root):
    """Kind -> exit status of the command."""
    table = dict(re.findall(r"case ErrorKind::(\w+):\s+return (\d+);", read(root, EXIT_CODES)))
    kinds = set(re.findall(r"^    (\w+),", read(root, "kernels/base/error.h"), re.MULTILINE))
    if set(table) != kinds:
        raise Trouble(f"{EXIT_CODES}: no exit code for {', '.join(sorted(kinds ^ set(table)))}")
    return table


def check_mentions(root, codes):
    """Comments, tests and documents may name only codes that there are."""
    for path in sources.list_files(root):
        if path.startswith(MENTIONS) and path != PAGE and sources.language(root, path):
            for number, line in enumerate(sources.read(root / path).splitlines(), 1):
                for code in set(CODE.findall(line)) - codes:
                    raise Trouble(f"{path}:{number}: there is no code {code}")


# --- the page --------------------------------------------------------------------------------------------------------


def escaped(text):
    text = re.sub(r"([\\`*|<])", r"\\\1", text).replace("__", r"\_\_")
    return " ".join(text.split())


def said(text, unknown):
    return escaped(text) if has_words(text) else unknown


def sentence(report):
    """What happened, behind its subject if that is always the same."""
    subject = escaped(report.subject) + ": " if has_words(report.subject) else ""
    return subject + said(report.what, "*known when it happens*")


def merged(sentences):
    """Sentence -> how it is shown: those that differ only in a quoted word become one if they are many."""
    alike = {}
    for text in sentences:
        alike.setdefault(re.sub(r"'[\w.…/ -]+'", f"'{HOLE}'", text), set()).add(text)
    return {text: common if len(texts) >= MANY_ALIKE else text for common, texts in alike.items() for text in texts}


def rows(reports):
    """(kind, sentences, remedies, paths): sentences with the same kind and remedies are one row."""
    by_sentence, shown = {}, merged({sentence(report) for report in reports})
    for report in sorted(reports, key=lambda r: (r.path, sentence(r), r.remedy)):
        remedies, paths = by_sentence.setdefault((report.kind, shown[sentence(report)]), ({}, {}))
        if report.remedy:
            remedies[said(report.remedy, "*known when it happens*")] = True
        paths[report.path] = True
    by_remedies = {}
    for (kind, text), (remedies, paths) in by_sentence.items():
        if any(other.endswith(": " + text) for _, other in by_sentence):
            continue  # with its subject as well
        texts, all_paths = by_remedies.setdefault((kind, tuple(remedies)), ([], {}))
        texts.append(text)
        all_paths.update(paths)
    return [(kind, texts, remedies, paths) for (kind, remedies), (texts, paths) in by_remedies.items()]


def table(name, code, reports, status):
    lines, last = [], None
    for kind, texts, remedies, paths in sorted(rows(reports), key=lambda row: row[0]):
        first = "" if kind == last else f"`{code}`<br>{name}<br>{kind}, {status[kind]}"
        last = kind
        cells = [first, "<br>".join(texts), "<br>*or* ".join(remedies) or "–", "<br>".join(f"`{p}`" for p in paths)]
        lines.append("| " + " | ".join(cells) + " |\n")
    return "".join(lines)


def order_in_group(code):
    number = code.split("-")[-1]
    return not number.isdigit(), number.zfill(3)


def wording_table(wordings):
    lines = ["\n### Settings and steps\n\nWhat the command and the window word differently.\n\n"
             "| in the command | in the window |\n|---|---|\n"]
    for key, command in wordings["command"].items():
        cells = [re.sub(r"\{[0-9]\}", HOLE, text) for text in (command, wordings["window"].get(key, ""))]
        lines.append(f"| {escaped(cells[0])} | {escaped(cells[1])} |\n")
    return "".join(lines)


def generated(root):
    program = error_sites.Program(root)
    codes, status = code_table(root), statuses(root)
    by_name = {}
    for report in error_sites.find(program):
        by_name.setdefault(report.code, []).append(report)
    for name, code in codes.items():
        if name not in by_name:
            raise Trouble(f"nothing reports {code}, ErrorCode::{name}")
        if code.split("-")[1] not in GROUPS:
            raise Trouble(f"docs/errors.py: GROUPS says nothing about {code}")
    check_mentions(root, set(codes.values()))
    groups = {group: sorted((order_in_group(code), name, code) for name, code in codes.items()
                            if code.split("-")[1] == group) for group in GROUPS}
    parts = [f"{len(codes)} codes in {sum(map(bool, groups.values()))} groups.\n"]
    for group, members in groups.items():
        if members:
            parts.append(f"\n### PAL-{group}\n\n{GROUPS[group]}\n\n"
                         "| code | what happened | what to do | where |\n|---|---|---|---|\n")
            parts += [table(name, code, by_name[name], status) for _, name, code in members]
    return "".join(parts) + wording_table(program.wordings), status


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--root", default=REPOSITORY, metavar="FOLDER", help="another checkout")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    try:
        part, status = generated(root)
        before = read(root, PAGE)
    except Trouble as trouble:
        sys.exit(str(trouble))
    if before.count(BEGIN) != 1 or before.count(END) != 1 or before.index(END) < before.index(BEGIN):
        sys.exit(f"{PAGE} must have one line {BEGIN.strip()} and one {END} behind it")
    for kind, number in status.items():
        if f"| {number} | {kind} |" not in before:
            sys.exit(f"{PAGE}: the table of exit statuses lacks {number}, {kind}")
    after = before[:before.index(BEGIN) + len(BEGIN)] + part + before[before.index(END):]
    if not options.check:
        (root / PAGE).write_text(after, encoding="utf-8")
        return 0
    difference = list(difflib.unified_diff(before.splitlines(), after.splitlines(), PAGE, "as generated", n=0,
                                           lineterm=""))
    print("\n".join(difference))
    if difference:
        print(f"{PAGE} is not what the code says; run docs/errors.py")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
