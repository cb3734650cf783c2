#!/usr/bin/env python3
"""Compares the sentences in the source code with their translations, resources/messages/de.json (standard library
only). Ends with 1 if there is a finding.

    messages.py [--root FOLDER] [--missing | --write FILE | --prune]

--missing prints the patterns that have no translation as a JSON object with empty values; --write adds the
translations of such an object that are not empty; --prune removes those whose pattern is gone.

A pattern is the literal of `Text("...")`, of a variable or member that is a Text, or of an emplace_back() to a list of
them; a clause for a Step, or a label for a Setting, in the wording of the command or the window; and the description of
an option or subcommand, which --help translates. Findings are

- a pattern with words that has no translation, and a translation whose pattern is gone;
- holes that differ between pattern and translation, and a number of values that differs from that of the holes;
- an option or subcommand of the command in a string of the storage, the engine or the kernels: a Setting or a Step
  says it, and the command and the window word it;
- an error code in a string: only its table has them, all other code compares ErrorCode.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

import cpp
import sources

TRANSLATIONS = "resources/messages/de.json"
FRONT_ENDS = ("app/", "ui/")
WITHOUT_FRONT_END = ("storage/", "engine/", "kernels/")
FOLDERS = FRONT_ENDS + WITHOUT_FRONT_END
CODE_TABLE = "kernels/base/error_code.cpp"
HOLE = re.compile(r"\{([0-9])\}")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
SUBCOMMAND = re.compile(r"\bpalimpsest [a-z]+")
# Functions of the command whose first literal is a name, and whose second is its description.
DESCRIBING = {
    "add", "add_flag", "add_option", "add_subcommand", "add_without_config", "set_help_flag", "set_version_flag"
}  # fmt: skip
MEANT_FOR = {"emplace_back", "emplace", "emplace_front", "push_back"}

Pattern = collections.namedtuple("Pattern", "text place values")  # values: their number, or None if it is unknown
Finding = collections.namedtuple("Finding", "place problem")


def text_names(code):
    """Names of variables and members of a file that are a Text, and of those that hold several."""
    single, several = set(), set()
    for i, word in enumerate(code.words):
        if word != "Text" or code.kinds[i] != "name":
            continue
        k, names = i + 1, single
        while code.word(k) in (">", "&", "const"):
            names = several if code.word(k) == ">" else names
            k += 1
        if code.kind(k) == "name":
            names.add(code.words[k])
    return single, several


def patterns_of(code, header=None):
    """The patterns of a file; `header` is the one of the same name, which declares its members."""
    single, several = text_names(code)
    if header:
        single, several = (a | b for a, b in zip((single, several), text_names(header)))
    for i in range(len(code.words)):
        if code.opens(i, "{") and code.words[i + 1] in ("Step", "Setting") and code.path.startswith(FRONT_ENDS):
            arguments = code.arguments(i)
            text = code.literal(*arguments[1]) if len(arguments) == 2 else None
            if text is not None and not OPTION.match(text):
                yield Pattern(text, code.at(i), None)
        if code.opens(i, "(") and code.word(i - 1) in DESCRIBING and code.path.startswith("app/"):
            literals = [text for text in (code.literal(*a) for a in code.arguments(i)) if text is not None]
            if len(literals) > 1:
                yield Pattern(literals[1], code.at(i), None)
        if not code.opens(i, "({") or code.kind(i + 1) != "string" or code.kind(i - 1) != "name":
            continue
        name, before = code.words[i - 1], code.word(i - 2)
        owner = code.word(i - 3) if before in (".", "->") else ""
        is_text = name == "Text" or (before == "Text" and code.kind(i - 2) == "name")
        is_member = name in single and name.endswith("_") and before in (":", ",")  # initialised by a constructor
        is_element = name in MEANT_FOR and owner in several | single or name in several and before in (">", ":", ",")
        if is_text or is_member or is_element:
            arguments = code.arguments(i)
            text = code.literal(*arguments[0])
            if text is not None:
                has_pack = "..." in code.words[i : code.partner[i]]
                yield Pattern(text, code.at(i), None if has_pack else len(arguments) - 1)


def holes(text):
    return set(HOLE.findall(text))


def has_words(text):
    return any(c.isalpha() for c in HOLE.sub("", text))


def load_translations(root):
    path = pathlib.Path(root) / TRANSLATIONS
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def save_translations(root, translations):
    path = pathlib.Path(root) / TRANSLATIONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(translations), encoding="utf-8")


def as_json(translations):
    return json.dumps(translations, ensure_ascii=False, indent=4, sort_keys=True) + "\n"


class Messages:
    def __init__(self, root):
        self.files = cpp.load(pathlib.Path(root), FOLDERS)
        self.translations = load_translations(root)
        by_path = {code.path: code for code in self.files}
        self.patterns = []
        for code in self.files:
            header = by_path.get(re.sub(r"\.\w+$", ".h", code.path))
            self.patterns += patterns_of(code, header if header is not code else None)

    def missing(self):
        return {p.text: "" for p in self.patterns if has_words(p.text) and not self.translations.get(p.text)}

    def gone(self):
        return sorted(set(self.translations) - {p.text for p in self.patterns})

    def findings(self):
        yield from self._translation_findings()
        for pattern in self.patterns:
            filled = {str(n) for n in range(pattern.values)} if pattern.values is not None else holes(pattern.text)
            if filled != holes(pattern.text):
                yield Finding(pattern.place, f"{pattern.values} values for the holes of {pattern.text!r}")
        for code in self.files:
            for i, kind in enumerate(code.kinds):
                if kind == "string":
                    yield from self._string_findings(code, i, cpp.literal_value(code.words[i]))

    def _translation_findings(self):
        missing, seen = self.missing(), set()
        for pattern in self.patterns:
            if pattern.text in seen:
                continue
            seen.add(pattern.text)
            translation = self.translations.get(pattern.text, "")
            if pattern.text in missing:
                yield Finding(pattern.place, f"no translation of {pattern.text!r}")
            elif translation and holes(translation) != holes(pattern.text):
                yield Finding(TRANSLATIONS, f"other holes than in the pattern: {translation!r}")
        for text in self.gone():
            yield Finding(TRANSLATIONS, f"nothing in the source code says {text!r}")

    @staticmethod
    def _string_findings(code, i, text):
        if "PAL-" in text and code.path != CODE_TABLE:
            yield Finding(code.at(i), f"an error code in a string: {text!r}")
        if code.path.startswith(WITHOUT_FRONT_END):
            option = OPTION.search(text) or SUBCOMMAND.search(text)
            if option:
                yield Finding(code.at(i), f"names '{option.group()}' of the command: {text!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=sources.REPOSITORY, metavar="FOLDER", help="another checkout to read")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--missing", action="store_true", help="print the patterns that have no translation")
    action.add_argument("--write", metavar="FILE", help="add the translations of a JSON object")
    action.add_argument("--prune", action="store_true", help="remove translations whose pattern is gone")
    options = parser.parse_args()
    messages = Messages(options.root)
    if options.missing:
        print(as_json(messages.missing()), end="")
        return 0
    if options.write:
        added = json.loads(pathlib.Path(options.write).read_text(encoding="utf-8"))
        save_translations(options.root, messages.translations | {k: v for k, v in added.items() if v})
        return 0
    if options.prune:
        gone = set(messages.gone())
        save_translations(options.root, {k: v for k, v in messages.translations.items() if k not in gone})
        return 0
    findings = list(messages.findings())
    for finding in findings:
        print(f"{finding.place}: {finding.problem}")
    print(f"{len(findings)} findings in {len(set(p.text for p in messages.patterns))} patterns")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
