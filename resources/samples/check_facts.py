#!/usr/bin/env python3
"""Check the sample document and its facts file (standard library only).

    python3 resources/samples/check_facts.py [folder]

Prints a summary and exits 0, or prints one sentence for each thing that is
wrong and exits 1.
"""

import json
import re
import sys
from pathlib import Path

SCHEMA = "palimpsest.facts/1"
DOCUMENT = "ashford-light.md"
FACTS = "ashford-light.facts.json"
MIN_WORDS = 30000
MIN_FACTS = 80
MIN_FACTS_PER_CHAPTER = 3
MIN_FACTS_PREFACE = 1
PREFACE = "To the Reader"
FIRST_YEAR, LAST_YEAR = 1790, 1905
FIELDS = ("id", "question", "answer", "evidence", "chapter")


def read_text(path, problems):
    try:
        raw = path.read_bytes()
    except OSError as error:
        problems.append(f"{path.name} cannot be read: {error.strerror}.")
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.append(f"{path.name} is not UTF-8 (byte {error.start}).")
        return None


def check_characters(name, text, problems):
    for number, line in enumerate(text.split("\n"), 1):
        for character in line:
            if not " " <= character <= "~":
                problems.append(
                    f"{name} line {number} holds the character U+{ord(character):04X}; "
                    "only printable ASCII and line feeds are allowed."
                )
                break
    if not text.endswith("\n") or text.endswith("\n\n"):
        problems.append(f"{name} must end with exactly one line feed.")


def split_chapters(text, problems):
    """Return {heading: body} of the second-level headings, in order."""
    chapters, heading = {}, None
    for line in text.split("\n"):
        if line.startswith("## "):
            heading = line[3:]
            if heading in chapters:
                problems.append(f"The heading '{heading}' occurs twice.")
            chapters[heading] = []
        elif heading is not None:
            chapters[heading].append(line)
    return {name: "\n".join(lines) for name, lines in chapters.items()}


def check_document(text, problems):
    words = len(text.split())
    if words < MIN_WORDS:
        problems.append(f"The document has {words} words; at least {MIN_WORDS} are wanted.")

    lines = text.rstrip("\n").split("\n")
    if not lines[0].startswith("# ") or sum(x.startswith("# ") for x in lines) != 1:
        problems.append("The document must begin with its only first-level heading.")
    for number, line in enumerate(lines, 1):
        if line != line.strip():
            problems.append(f"Line {number} begins or ends with a space.")
        if "  " in line:
            problems.append(f"Line {number} holds two spaces together.")
        wants_blank = number % 2 == 0
        if wants_blank != (line == ""):
            problems.append(
                f"Line {number} breaks the rule of one paragraph to a line with one blank line between."
            )
            break

    seen = {}
    for number, line in enumerate(lines, 1):
        if line:
            key = " ".join(line.lower().split())
            if key in seen:
                problems.append(f"Line {number} repeats the paragraph of line {seen[key]}.")
            seen.setdefault(key, number)

    for number, line in enumerate(lines, 1):
        for year in re.findall(r"(?<![\d,.])\d{4}(?![\d,])", line):
            if not FIRST_YEAR <= int(year) <= LAST_YEAR:
                problems.append(
                    f"Line {number} names the year {year}, outside {FIRST_YEAR}-{LAST_YEAR}."
                )
    return words


def check_facts(text, chapters, data, problems):
    if not isinstance(data, dict):
        problems.append("The facts file must hold one object.")
        return {}
    if data.get("schema") != SCHEMA:
        problems.append(f"The schema of the facts file must be '{SCHEMA}'.")
    if data.get("document") != DOCUMENT:
        problems.append(f"The facts file must name the document '{DOCUMENT}'.")
    facts = data.get("facts")
    if not isinstance(facts, list):
        problems.append("The facts file must have a list named 'facts'.")
        return {}
    if len(facts) < MIN_FACTS:
        problems.append(f"There are {len(facts)} facts; at least {MIN_FACTS} are wanted.")

    ids, questions = set(), set()
    counts = {name: 0 for name in chapters}
    for position, fact in enumerate(facts, 1):
        label = fact.get("id", f"number {position}") if isinstance(fact, dict) else f"number {position}"
        if not isinstance(fact, dict) or sorted(fact) != sorted(FIELDS):
            problems.append(f"Fact {label} must have exactly the fields {', '.join(FIELDS)}.")
            continue
        if any(not isinstance(fact[x], str) or not fact[x].strip() for x in FIELDS):
            problems.append(f"Fact {label} has an empty field or one that is not text.")
            continue
        if fact["id"] in ids:
            problems.append(f"The fact id '{label}' is used twice.")
        ids.add(fact["id"])
        if fact["question"] in questions:
            problems.append(f"The question of fact {label} is asked twice.")
        questions.add(fact["question"])
        if not fact["question"].endswith("?"):
            problems.append(f"The question of fact {label} does not end with a question mark.")
        found = text.count(fact["evidence"])
        if found != 1:
            problems.append(f"The evidence of fact {label} occurs {found} times in the document, not once.")
        if fact["answer"] not in fact["evidence"]:
            problems.append(f"The evidence of fact {label} does not contain its answer.")
        if fact["chapter"] not in chapters:
            problems.append(f"Fact {label} names a chapter that is not in the document.")
            continue
        counts[fact["chapter"]] += 1
        if found == 1 and fact["evidence"] not in chapters[fact["chapter"]]:
            problems.append(f"The evidence of fact {label} is not in the chapter that it names.")

    for name, count in counts.items():
        least = MIN_FACTS_PREFACE if name == PREFACE else MIN_FACTS_PER_CHAPTER
        if count < least:
            problems.append(f"'{name}' has {count} facts; at least {least} are wanted.")
    return counts


def main(arguments):
    folder = Path(arguments[1]) if len(arguments) > 1 else Path(__file__).resolve().parent
    problems = []
    words, counts = 0, {}
    text = read_text(folder / DOCUMENT, problems)
    facts_text = read_text(folder / FACTS, problems)
    if text is not None:
        check_characters(DOCUMENT, text, problems)
        words = check_document(text, problems)
    if facts_text is not None:
        check_characters(FACTS, facts_text, problems)
    if text is not None and facts_text is not None:
        try:
            data = json.loads(facts_text)
        except ValueError as error:
            problems.append(f"{FACTS} is not valid JSON: {error}.")
        else:
            counts = check_facts(text, split_chapters(text, problems), data, problems)

    if problems:
        for problem in problems:
            print(problem)
        return 1
    print(f"{DOCUMENT}: {words} words, {len(counts)} sections.")
    for name, count in counts.items():
        print(f"  {count:3d} facts  {name}")
    print(f"{FACTS}: {sum(counts.values())} facts, all found.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
