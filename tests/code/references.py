#!/usr/bin/env python3
"""Lists references in comments, strings and pages that do not resolve; ends with 1 if there is one (standard library
only).

    references.py [--root FOLDER]

Four kinds are checked:

- names of pages, and what follows them: "docs/policies-spec.md, twilight", "docs/validation.md, K9",
  "docs/performance.md#speed". A name without a folder is looked up beside the file that names it, and in the root. In
  strings, only names that begin with a folder of the repository count; others are data;
- ids of rules in comments that do not name their page. The first comment of a file may name it for all of them: "the
  ids name the rules in docs/validation.md". Ids in the names of tests may be in any comment of the file that names
  the page;
- links in pages to files and headings of this repository;
- "contract", "rule", "section" or "decision" with a number, without a page or a paper before it.
"""
import argparse
import collections
import pathlib
import re
import sys

import sources

RULES = "docs/validation.md"
# How many rules of each letter there have been: an id that was removed is still recognised as one.
RULE_COUNTS = {
    "C": 7, "E": 6, "G": 18, "J": 6, "K": 10, "L": 19, "M": 4, "P": 17, "Q": 17, "R": 2, "S": 9, "T": 13, "U": 4, "V": 17
}
# Pages that comments have named without a folder.
OLD_PAGES = {"architecture.md", "cli.md", "desktop.md", "performance.md", "policies.md", "product.md", "reliability.md"}

PAGE = re.compile(r"(?<![\w/.:@-])((?:[\w.-]+/)*\w[\w.-]*\.md)\b(?:#([\w-]+))?")
EXTERNAL = re.compile(r"(?:https?://\S*|github\.com/[\w.-]+/[\w.-]+,? *(?:at |file )?)$")
ID = re.compile(r"(?<![\w.\"'`+/-])([CEGJKLMPQRSTUV])([1-9]\d?)(?![\w\"'`+(\[=]|\.\d|-[A-Za-z])")
RANGE = re.compile(r"([A-Z])(\d+)(?: to |-|\.\.|–)\1?(\d+)")
ERROR_CODES = re.compile(r"PAL-[A-Z]+-\w+(?:(?:,| to| and| or) -?[A-Z]?\d+)*")
NUMBERED = re.compile(r"\b(contract|rule|section|decision)s? (\d+(?:\.\d+)*)\b", re.IGNORECASE)
PAPER = re.compile(
    r"\bet al\b|\b(?:19|20)\d\d\b|\barXiv\b|\b(?:RFC|ISO|IEEE|WCAG|Unicode)\b|\b[A-Z][\w-]*[A-Z][\w-]*, "
    r"|\b[A-Z]\w+, (?:equation of )?$"
)
TEST_NAME = re.compile(r"\b(?:TEST_CASE|SECTION|TEMPLATE_TEST_CASE)\(\s*\"((?:\\.|[^\"\\])*)\"")
# Ids that are something else where these words are near, or in these folders.
OTHER_MEANINGS = (
    (
        {"L1", "L2", "L3"},
        re.compile(r"\bcaches?\b|\bnorm\b|prefetch", re.I),
        ("kernels/", "tests/bench/", "tests/support/simt/", "tests/unit/kernels/"),
    ),
    ({"T4", "L4", "P4"}, re.compile(r"\bGPUs?\b|NVIDIA|Tesla|sm_\d|\bcards?\b", re.I), ("kernels/cuda/", "tests/gpu/")),
    ({"C1"}, re.compile(r"\bcontrols?\b", re.I), ()),
    ({"M1", "M2", "M3"}, re.compile(r"\bApple\b"), ()),
)

Finding = collections.namedtuple("Finding", "file line problem")


def without_marks(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return heading.replace("`", "").replace("*", "").strip()


class Page:
    """Headings, anchors and rule ids of a Markdown file, and its text in blocks."""

    def __init__(self, text):
        self.text = text
        self.headings, self.anchors, self.ids = [], set(), set()
        self.prose, self.fenced = [], []  # blocks
        paragraph, is_fenced = [], False
        for number, line in enumerate(text.split("\n"), 1):
            if re.match(r"\s*(```|~~~)", line):
                is_fenced = not is_fenced
                paragraph = self._end(paragraph)
                continue
            if is_fenced:
                self.fenced.append(sources.Block("code", [(number, line)]))
                continue
            title = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
            if title:
                self._add_heading(without_marks(title.group(1)))
            row = re.match(r"\s*(?:[|]|[-*]|#+)\s*\**`?([A-Z]\d{1,2})\b", line)
            if row:
                self.ids.add(row.group(1))
            if not line.strip() or title or line.lstrip().startswith(("|", "- ", "* ")):
                paragraph = self._end(paragraph)
            if line.strip():
                paragraph.append((number, line.strip()))
        self._end(paragraph)

    def _end(self, paragraph):
        if paragraph:
            self.prose.append(sources.Block("prose", paragraph))
        return []

    def _add_heading(self, heading):
        self.headings.append(heading.lower())
        if ":" in heading:
            self.headings.append(heading.split(":")[0].lower())
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number, unique = 0, anchor
        while unique in self.anchors:
            number += 1
            unique = f"{anchor}-{number}"
        self.anchors.add(unique)


def blank(text, spans):
    """`text` with the characters of `spans` replaced by spaces, so that offsets stay."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def ids_of(text):
    """Ids in a text, with ranges such as "G2 to G10" filled in."""
    ids = {letter + number for letter, number in ID.findall(text)}
    for letter, first, last in RANGE.findall(text):
        ids |= {f"{letter}{n}" for n in range(int(first), int(last) + 1)}
    return ids


def is_rule(identifier):
    return 1 <= int(identifier[1:]) <= RULE_COUNTS.get(identifier[0], 0)


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.names = sources.list_files(self.root)
        self.folders = {name.split("/")[0] for name in self.names if "/" in name}
        self.pages = {}
        self.findings = []
        # A page that was just written need not be known to git.
        self.rules = self.page(RULES) if (self.root / RULES).is_file() else None

    def page(self, name):
        if name not in self.pages:
            self.pages[name] = Page(sources.read(self.root / name))
        return self.pages[name]

    def report(self, file, block, offset, problem):
        self.findings.append(Finding(file, block.line_of(offset), problem))

    def run(self):
        for name in self.names:
            language = sources.language(self.root, name)
            if language == "markdown":
                self.check_page(name)
            elif language:
                text = sources.read(self.root / name)
                blocks = sources.blocks(language, text)
                self.check_source(name, blocks)
                if language == "cpp":
                    self.check_test_names(name, text, blocks)
        self.findings = sorted(set(self.findings))
        return self.findings

    # Sources

    def check_source(self, file, blocks):
        comments = [block for block in blocks if block.kind == "comment"]
        first = comments[0].text if comments else ""
        declares_ids = re.search(r"\bids name the rules in " + re.escape(RULES), first) is not None
        for block in blocks:
            if block.kind == "comment":
                self.check_comment(file, block, declares_ids)
            else:
                self.check_string(file, block)

    def check_comment(self, file, block, declares_ids=False):
        spans = self.check_pages(file, block, block.text)
        rest = blank(block.text, spans)
        self.check_ids(file, block, rest, declares_ids or RULES in block.text)
        self.check_numbered(file, block, rest)

    def check_string(self, file, block):
        """Only names that begin with a folder of the repository refer to its pages; others are data."""
        for found in re.finditer(r"(?<![\w.-])([\w-]+)/(?:[\w.-]+/)*[\w.-]+\.md\b", block.text):
            if found.group(1) in self.folders and "://" not in block.text[: found.start()]:
                if not (self.root / found.group()).is_file():
                    self.report(file, block, found.start(), f"there is no page {found.group()}")

    def check_test_names(self, file, text, blocks):
        declared = set()
        for block in blocks:
            if block.kind == "comment" and RULES in block.text:
                declared |= ids_of(block.text)
        lines = sources.Lines(text)
        for found in TEST_NAME.finditer(text):
            ids = {i for i in ids_of(found.group(1)) if is_rule(i) and not self.means_other(i, found.group(1), file)}
            unknown = sorted(i for i in ids if i not in declared or not self.has_rule(i))
            if unknown:
                problem = f"no comment of this file says '{RULES}, {unknown[0]}' as a test's name does"
                self.findings.append(Finding(file, lines.of(found.start(1)), problem))

    # Pages and what is behind their names

    def resolve(self, file, name):
        """The path of a page that `file` names, or None."""
        for base in (self.root, (self.root / file).parent):
            path = (base / name).resolve()
            if path.is_file() and path.is_relative_to(self.root):
                return str(path.relative_to(self.root))
        return None

    def check_pages(self, file, block, text):
        """Checks the names of pages in a text. Returns the spans that are checked with that."""
        spans = []
        for found in PAGE.finditer(text):
            if EXTERNAL.search(text[: found.start()]):
                continue
            name, anchor = found.groups()
            page = self.resolve(file, name)
            if page is None:
                self.report(file, block, found.start(), f"there is no page {name}")
                # Ids and sections behind it are part of the same reference.
                behind = re.compile(r"(?:[,:]? (?:and |to |rules? |sections? |contracts? )?(?:[A-Z]?\d+(?:\.\d+)*))*")
                spans.append((found.start(), behind.match(text, found.end()).end()))
                continue
            if anchor and anchor not in self.page(page).anchors:
                self.report(file, block, found.start(), f"{name} has no heading #{anchor}")
            spans.append((found.start(), self.check_items(file, block, text, page, found.end())))
        return spans

    def check_items(self, file, block, text, page, at):
        """Checks headings and ids behind a page's name, which ends at `at`. Returns where they end."""
        separator = re.compile(r"(?:, (?:and |or )?| and | or | to |: )")
        in_brackets = text.count("(", 0, at) > text.count(")", 0, at)
        found, is_first, end = self.page(page), True, at
        previous = ""
        while True:
            gap = separator.match(text, end)
            if not gap or (is_first and gap.group().strip() not in (",", ":")):
                return end
            start = gap.end()
            identifier = re.compile(r"([A-Z])(\d{1,2})\b(?!\.\d)").match(text, start)
            quoted = re.compile(r"`([^`]*)`|\"([^\"]*)\"").match(text, start)
            number = re.compile(r"\d+\b").match(text, start)
            heading = self.heading_at(found, text, start)
            if heading:
                previous, end = heading, start + len(heading)
            elif identifier and identifier.group(1) in RULE_COUNTS:
                if identifier.group() not in found.ids:
                    self.report(file, block, start, f"{page} has no rule {identifier.group()}")
                end = identifier.end()
            elif number and re.match(r"\w+ \d+$", previous):
                wanted = f"{previous.split()[0]} {number.group()}"
                if wanted not in found.headings:
                    self.report(file, block, start, f"{page} has no heading '{wanted}'")
                end = number.end()
            elif quoted and not is_first:
                if (quoted.group(1) or quoted.group(2)) not in found.text:
                    self.report(file, block, start, f"{page} does not mention {quoted.group()}")
                end = quoted.end()
            else:
                item = re.compile(r"[^,;:.()]*").match(text, start).group()
                if in_brackets and (is_first or re.fullmatch(r"[\w-]+", item)) or NUMBERED.match(item):
                    self.report(file, block, start, f"{page} has no heading '{item.strip()}'")
                    return start + len(item)
                return end
            is_first = False

    @staticmethod
    def heading_at(page, text, start):
        """The longest heading of a page that the text names at `start`, as it is written there; else empty."""
        lowered = text[start : start + 200].lower()
        plain = lowered.replace("`", "")
        best = max((h for h in page.headings if re.match(re.escape(h) + r"(?![\w-])", plain)), key=len, default="")
        if not best:
            return ""
        length, left = 0, len(best)  # backticks are not part of `best`
        while left:
            left -= lowered[length] != "`"
            length += 1
        if lowered[length : length + 1] == "`":
            length += 1
        return text[start : start + length]

    # Ids and numbers

    def has_rule(self, identifier):
        return self.rules is not None and identifier in self.rules.ids

    @staticmethod
    def means_other(identifier, text, file):
        return any(
            identifier in ids and (words.search(text) or file.startswith(folders))
            for ids, words, folders in OTHER_MEANINGS
        )

    def check_ids(self, file, block, text, names_page):
        text = blank(text, [found.span() for found in ERROR_CODES.finditer(text)])
        for found in ID.finditer(text):
            identifier = found.group()
            if not is_rule(identifier) or self.means_other(identifier, block.text, file):
                continue
            if not names_page:
                self.report(file, block, found.start(), f"{identifier} names no page; write '{RULES}, {identifier}'")
            elif not self.has_rule(identifier):
                self.report(file, block, found.start(), f"{RULES} has no rule {identifier}")

    def check_numbered(self, file, block, text, own=None):
        for found in NUMBERED.finditer(text):
            before = block.text[: found.start()]
            named = own is not None and found.group().lower() in own.headings
            if not named and not PAPER.search(before) and not PAGE.search(before):
                self.report(file, block, found.start(), f"'{found.group()}' does not say of which page or paper")

    # Markdown

    def check_page(self, file):
        page = self.page(file)
        for block in page.fenced:
            self.check_string(file, block)
        for block in page.prose:
            code = [found.span() for found in re.finditer(r"(`+)(?!`).*?(?<!`)\1(?!`)", block.text)]
            links = self.check_links(file, page, block, blank(block.text, code))
            for start, end in code:
                self.check_code_in_page(file, block, start, end)
            rest = blank(block.text, code + links)
            rest = blank(rest, self.check_pages(file, block, rest))
            if file != RULES:
                names_rules = pathlib.PurePosixPath(RULES).name in block.text
                self.check_ids(file, block, rest, names_rules)
            self.check_numbered(file, block, rest, page)

    def check_code_in_page(self, file, block, start, end):
        for found in PAGE.finditer(block.text, start, end):
            name = found.group(1)
            if (name.split("/")[0] in self.folders or name in OLD_PAGES) and self.resolve(file, name) is None:
                self.report(file, block, found.start(), f"there is no page {name}")

    def check_links(self, file, page, block, text):
        spans = []
        for found in re.finditer(r"\]\(\s*<?([^)>\s]*)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", text):
            target = found.group(1) if found.group(1) is not None else found.group(2)
            opening = text.rfind("[", 0, found.start())
            spans.append((max(opening, 0), found.end()))
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            name = str(pathlib.PurePosixPath(file))
            if path:
                linked = (self.root / file).parent / path
                if not linked.exists():
                    self.report(file, block, found.start(), f"link to {target}: there is no such file")
                    continue
                if not anchor or linked.suffix != ".md":
                    continue
                name = str(linked.resolve().relative_to(self.root))
            if anchor and anchor not in (self.page(name) if path else page).anchors:
                self.report(file, block, found.start(), f"link to {target}: there is no such heading")
        return spans


def find(root):
    """The references below `root` that do not resolve, in the order of their files."""
    return Checker(root).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=sources.REPOSITORY, metavar="FOLDER", help="another checkout to read")
    findings = find(parser.parse_args().root)
    for finding in findings:
        print(f"{finding.file}:{finding.line}: {finding.problem}")
    print(f"{len(findings)} unresolved references in {len({finding.file for finding in findings})} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
