#!/usr/bin/env python3
"""Counts how many facts of a document a model answers.

    facts.py given PROGRAM --model MODEL        each question with the one paragraph that contains its answer
    facts.py read PROGRAM --model MODEL         the whole document, read once into the session, then every question
    facts.py reference URL                      like 'given', but from a llama.cpp server on this machine

The facts come from resources/samples (--facts chooses others, --document their text): question, answer, and the
sentence that contains it. --facts takes several files, too, whose documents lie in the folder --books; files whose
document is not there are left out. Answers are greedy, of at most --max-tokens tokens; an answer counts if it contains the
expected words (answer_match.py). --wording adds text around the questions. Arguments after '--' go to the program, such
as --budget 2048 or --reread never. A quote (the sentence under an answer) counts if it contains the expected words. A
question without an answer counts if it is told that the text does not say. Prints a line per fact, then how many
answers, how many quotes and how many of either count, by kind of question and with 95 % intervals (Wilson); --json writes
the results to a file.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from answer_match import declines, holds
from found import interval

SAMPLES = Path(__file__).resolve().parents[2] / "resources/samples"


def is_right(answer, fact):
    return holds(answer, fact["answer"]) if "answer" in fact else declines(answer)


def paragraph_of(text, evidence):
    for paragraph in text.split("\n\n"):
        if evidence in paragraph:
            return paragraph.strip()
    raise SystemExit(f"the document does not hold: {evidence}")


class Program:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
        installed = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # where an encoder may be
        self.environment.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=installed)

    def ask(self, document, questions):
        command = [self.options.program, "ask", str(document), *questions, "--prompt", self.options.wording, "--json",
                   "--temperature", "0",
                   "--max-tokens", str(self.options.max_tokens), *self.options.more]
        if self.options.model:
            command += ["--model", self.options.model]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if done.returncode:
            raise SystemExit(done.stderr.strip())
        return json.loads(done.stdout)


def ask_given(options, facts, text):
    with tempfile.TemporaryDirectory() as folder:
        program, document = Program(options, folder), Path(folder, "paragraph.md")
        for fact in facts:
            document.write_text(paragraph_of(text, fact["evidence"]))
            yield program.ask(document, [fact["question"]])["answers"][0]


def ask_read(options, facts, text):
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "document.md")
        document.write_text(text)
        result = Program(options, folder).ask(document, [fact["question"] for fact in facts])
        yield from result["answers"]


def ask_reference(options, facts, text):
    for fact in facts:
        content = paragraph_of(text, fact["evidence"]) + "\n\n" + options.wording.replace("{}", fact["question"])
        body = {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": options.max_tokens,
                "cache_prompt": False}
        request = urllib.request.Request(options.url.rstrip("/") + "/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            yield {"text": json.load(response)["choices"][0]["message"]["content"]}


def is_answered(result):
    return result["right"]


def is_answered_or_quoted(result):
    return result["right"] or result["quoted"]


def answered(options, facts, text):
    """Asks all the questions of a document; with 'given', those that it answers."""
    ask = {"given": ask_given, "read": ask_read, "reference": ask_reference}[options.way]
    if options.way != "read":
        facts = [fact for fact in facts if "evidence" in fact]
    for fact, answer in zip(facts, ask(options, facts, text)):
        said, quote = answer["text"], (answer.get("quote") or {}).get("text", "")
        right, quoted = is_right(said, fact), "answer" in fact and holds(quote, fact["answer"])
        print(f"{'+' if right else '-'}{'+' if quoted else '-'} {fact['id']}  {fact.get('answer', '(not told)')}  |  "
              f"{' '.join(said.split())[:150]}  |  {' '.join(quote.split())[:150]}", flush=True)
        yield {"id": fact["id"], "kind": fact.get("kind", "direct"), "question": fact["question"],
               "expected": fact.get("answer"), "answer": said, "quote": quote, "right": right, "quoted": quoted,
               "unsupported": answer.get("unsupported", [])}


def tell(kind, results):
    def share(count):
        low, high = interval(count, len(results))
        return f"{count} ({low:.3f}-{high:.3f})"

    right, either = (sum(count(result) for result in results) for count in (is_answered, is_answered_or_quoted))
    print(f"{kind}: of {len(results)}, {share(right)} answers, {sum(result['quoted'] for result in results)} quotes, "
          f"{share(either)} of either; of {right} right answers "
          f"{sum(result['right'] and result['quoted'] for result in results)} have such a quote")


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    arguments, more = arguments[:split], arguments[split + 1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    for way in ("given", "read", "reference"):
        sub = ways.add_parser(way)
        sub.add_argument("url" if way == "reference" else "program")
        if way != "reference":
            sub.add_argument("--model")
        sub.add_argument("--facts", type=Path, nargs="+", default=[SAMPLES / "ashford-light.facts.json"])
        sub.add_argument("--document", type=Path, help="the document, if it does not lie beside the facts")
        sub.add_argument("--books", type=Path, help="the folder of the documents")
        sub.add_argument("--max-tokens", type=int, default=64)
        sub.add_argument("--wording", default="{}", help="how a question is put, with {} for it")
        sub.add_argument("--first", type=int, help="only so many of the facts")
        sub.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.more = more
    if options.document and len(options.facts) > 1:
        parser.error("--document is the text of one file of facts; name the folder with --books")
    results = []
    for file in options.facts:
        listed = json.loads(file.read_text())
        document = options.document or (options.books or file.parent) / listed["document"]
        if document.is_file() or not options.books:
            results += answered(options, listed["facts"][:options.first], document.read_text())
    if not results:
        raise SystemExit("none of the documents was found")
    kinds = sorted({result["kind"] for result in results})
    for kind in kinds:
        tell(kind, [result for result in results if result["kind"] == kind])
    if len(kinds) > 1:
        tell("all", results)
    if options.json:
        right, either = (sum(count(result) for result in results) for count in (is_answered, is_answered_or_quoted))
        options.json.write_text(json.dumps({"schema": "palimpsest.quality/1", "way": options.way, "right": right,
                                            "either": either, "facts": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
