#!/usr/bin/env python3
"""Checks a set of questions about a book (standard library only).

    check_questions.py QUESTIONS.json BOOK.txt

The set has the schema "palimpsest.facts/1" and the fields 'document' and 'facts'. A fact has 'id', 'kind', 'question';
unless its kind is 'unanswerable', also 'answer' and 'evidence': a passage of the book, verbatim and unique, that contains the
answer. A 'paraphrased' question shares no content word with its evidence except names; a 'direct' one may. Prints a
sentence for each fault and ends with 1 if there are any."""
import collections
import json
import re
import sys
from pathlib import Path

import answer_match

STOP = set("""a about above after again against ago all also although am among an and another any anyone anything are as at away
back be became because been before began being below between both but by came can cannot come could did do does done down
during each either else enough even ever every everyone few first for from further gave get give given go goes going gone got
had has have having he her here hers herself him himself his how however i if in instead into is it its itself just last left
less let like made make many may me might mine more most much must my myself neither never next no none nor not nothing now of
off on once one only onto or other others our ours out over own per perhaps put quite rather said same say says set shall she
should since so some someone something soon still such take taken than that the their theirs them themselves then there these
they thing things this those though three through thus time till to too took toward towards two under until up upon us use
used very was way we well went were what whatever when where whether which while who whole whom whose why will with within
without would yes yet you your yours mr mrs miss sir lady dr st""".split())
WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?|\d+")


def stem_shared(a, b):
    """Whether two words are forms of one word, judged by their beginnings: rather too often than too rarely."""
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    return a == b or common >= max(4, min(len(a), len(b)) - 2)


def names_of(book):
    """Words that the book writes with a capital inside sentences, and (nearly) never without."""
    inside, small = collections.Counter(), collections.Counter()
    for match in re.finditer(r"(?<=[a-z,;] )([A-Z][a-z']+)|\b([a-z][a-z']+)", book):
        (inside if match[1] else small)[(match[1] or match[2]).lower()] += 1
    return {word for word, count in inside.items() if count > 3 * small[word]}


def content_words(text, names):
    return {word for word in (w.lower().removesuffix("'s") for w in WORD.findall(text)) if word not in STOP and word not in names}


def shared_words(fact, names):
    evidence = content_words(fact["evidence"], names)
    return sorted(w for w in content_words(fact["question"], names) if any(stem_shared(w, e) for e in evidence))


def faults_of(fact, text, names):
    fields = {"id", "kind", "question"} | (set() if fact.get("kind") == "unanswerable" else {"answer", "evidence"})
    if set(fact) != fields or any(not isinstance(v, str) or not v.strip() for v in fact.values()):
        yield f"must have exactly the fields {', '.join(sorted(fields))}, each with text"
        return
    if fact["kind"] not in ("direct", "paraphrased", "unanswerable"):
        yield f"has the kind '{fact['kind']}', which is none of direct, paraphrased, unanswerable"
    if not fact["question"].endswith("?"):
        yield "does not end with a question mark"
    if "evidence" not in fact:
        return
    if (found := text.count(fact["evidence"])) != 1:
        yield f"has evidence that occurs {found} times in the book, not once"
    if "\n" in fact["evidence"]:
        yield "has evidence of more than one paragraph"
    if not answer_match.holds(fact["evidence"], fact["answer"]):
        yield "has evidence that does not contain its answer"
    if answer_match.holds(fact["question"], fact["answer"]):
        yield "gives its answer away in the question"
    if fact["kind"] == "paraphrased" and (shared := shared_words(fact, names)):
        yield f"is called paraphrased and shares with its evidence: {', '.join(shared)}"


def main(arguments):
    listed = json.loads(Path(arguments[1]).read_text())
    text = Path(arguments[2]).read_text()
    names, ids, questions, faults, places = names_of(text), set(), set(), 0, []
    if listed.get("schema") != "palimpsest.facts/1" or listed.get("document") != Path(arguments[2]).name:
        print(f"{arguments[1]}: 'schema' must be palimpsest.facts/1 and 'document' {Path(arguments[2]).name}")
        faults += 1
    for fact in listed["facts"]:
        problems = list(faults_of(fact, text, names))
        if fact.get("id") in ids or fact.get("question") in questions:
            problems.append("is there twice")
        ids.add(fact.get("id"))
        questions.add(fact.get("question"))
        for problem in problems:
            print(f"{fact.get('id')}: {problem}")
        faults += len(problems)
        if "evidence" in fact:
            places.append(text.find(fact["evidence"]) * 10 // len(text))
    kinds = collections.Counter(fact.get("kind") for fact in listed["facts"])
    print(f"{len(listed['facts'])} questions: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) +
          f"; tenths of the book with evidence: {sorted(set(places))}; {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
