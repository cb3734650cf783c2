"""Stage-2 examples, cut from the training books by script: a document, then questions whose answers stand in it.

    python tasks.py DATA OUT [--examples 9000]      (needs OUT/tokenizer.model) writes OUT/tasks.npz
    python tasks.py DATA OUT --show 3               prints examples instead

Framing: <s><|user|>DOCUMENT\\n\\nINSTRUCTION<|end|><|assistant|>ANSWER<|end|>, then perhaps more turns without document.
tasks.npz: `ids` of all examples in a row, `answer` (1 where a token belongs to an answer), `ends` of the examples.
Every answer is made of whole sentences of the document.
"""
import argparse
import math
import random
import re
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from corpus import books
from tokenizer import Tokenizer

SENTENCE = re.compile(r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\b[A-Z]\.)(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z])")
WORD = re.compile(r"[A-Za-z][a-z']+")

SUMMARY = ["Summarize the text above."] * 6 + [
    "Summarise the text above.", "Summarize this text.", "Give a short summary of the text.", "Summarize the above.",
    "Write a summary.", "Please summarize the passage.", "What is this text about?", "Summarize the document.",
    "Sum up the text in a few sentences.", "Can you summarize this for me?", "What are the main points?",
    "Give me the gist of the text above.", "Summarize the passage above in a few sentences.", "Summary, please."]
QUOTE = ["Quote the sentence about {}.", "Find the passage about {}.", "What does the text say about {}?",
         "Which sentence mentions {}?", "Find the sentence with {}.", "Where does the text speak of {}?",
         "Quote the passage that mentions {}.", "What is said about {}?", "Show me the part about {}."]
OPENING = ['Quote the sentence that begins with "{}".', 'Which sentence starts with "{}"?',
           'Continue the quotation: "{}"', 'Complete the sentence: "{}"']
PERSON = ["Who is {}?", "What does the text say about {}?", "What do we learn about {}?", "What happened to {}?",
          "Tell me about {}.", "What did {} do?", "Where was {}?", "What about {}?"]

# sentences to plant, with the questions that ask for them; {a}, {b} are the same in both
FACTS = [
    ("The password is {n}.", ["What is the password?", "Which password is given?", "Tell me the password."]),
    ("The secret number is {n}.", ["What is the secret number?", "Which is the secret number?"]),
    ("The magic number for {place} is {n}.", ["What is the magic number for {place}?", "What is the number for {place}?"]),
    ("The code of the safe is {n}.", ["What is the code of the safe?", "How does one open the safe?"]),
    ("The key was hidden {where}.", ["Where was the key hidden?", "Where is the key?"]),
    ("The {thing} of {name} was kept {where}.", ["Where was the {thing} of {name} kept?", "Where is the {thing}?"]),
    ("{name} was born in {place} in {year}.", ["Where was {name} born?", "When was {name} born?"]),
    ("The name of the {role} is {name}.", ["What is the name of the {role}?", "Who is the {role}?"]),
    ("{name} is the new {role} of {place}.", ["Who is the new {role} of {place}?", "Who is {name}?"]),
    ("The meeting takes place on {day} at {hour} o'clock.", ["When is the meeting?", "On which day is the meeting?"]),
    ("The favourite colour of {name} is {colour}.", ["What is the favourite colour of {name}?", "Which colour does {name} like?"]),
    ("{name} paid {n} pounds for the {thing}.", ["How much did {name} pay for the {thing}?", "Who paid for the {thing}?"]),
    ("The ship from {place} arrives on {day}.", ["When does the ship from {place} arrive?", "Which ship arrives on {day}?"]),
    ("{name} lives in {place}.", ["Where does {name} live?", "Who lives in {place}?"]),
    ("{name} works in {place} as a {role}.", ["What is the work of {name}?", "Where does {name} work?"]),
    ("The budget for {year} is {n} pounds.", ["What is the budget for {year}?", "How large is the budget?"]),
]
FILL = {
    "place": "London Paris Vienna Rome Madrid Lisbon Dublin Boston Chicago Berlin Cairo Athens Geneva Naples Bristol "
             "Oxford York Leeds Boston Havana Lima Tokyo Delhi Oslo Prague Warsaw Venice Florence Dover Exeter".split(),
    "where": ["under the old stone", "in the blue box", "behind the clock", "in the garden", "under the bed",
              "in the top drawer", "behind the red door", "in the cellar", "beneath the apple tree", "on the high shelf",
              "in the church", "inside the piano", "in the third room", "under the bridge", "in the chimney"],
    "thing": "watch ring letter sword book map lamp horse picture crown purse diary violin umbrella telescope".split(),
    "role": "captain doctor baker gardener teacher governor lawyer butler smith painter judge carpenter".split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "hour": "two three four five six seven eight nine ten eleven".split(),
    "colour": "red blue green yellow white black purple brown grey orange".split(),
    "name": [f"{a} {b}" for a in "Anna John Mary Peter Clara Robert Alice Henry Martha George Rose Edward Laura James "
             "Helen Frank Emma Arthur Ruth Daniel".split()
             for b in "Miller Brown Harlow Stone Carter Wells Marsh Finch Hale Porter Grant Reed Lowell Price".split()],
}


def sentences(paragraph: str) -> list[str]:
    out, begin = [], 0
    for m in SENTENCE.finditer(paragraph):
        end = m.start() + len(m.group().rstrip())
        out.append(paragraph[begin:end])
        begin = m.end()
    return [s for s in (*out, paragraph[begin:]) if s.strip()]


class Maker:
    def __init__(self, texts: list[str], tokenizer: Tokenizer, seed: int):
        self.rng = random.Random(seed)
        self.tok = tokenizer
        self.books = [[p for p in t.split("\n\n")[2:] if p.strip()] for t in texts]
        self.books = [b for b in self.books if len(b) > 40]
        seen = Counter()
        for book in self.books:
            for p in book[::7]:
                seen.update({w.lower() for w in WORD.findall(p)})
        self.seen, self.count = seen, sum(len(b[::7]) for b in self.books)

    def rarity(self, word: str) -> float:
        return math.log(self.count / (1 + self.seen[word.lower()]))

    def document(self) -> list[list[str]]:
        """Paragraphs in a row, as lists of sentences: 100 to 1600 tokens (at about 3.85 characters each)."""
        size = 3.85 * math.exp(self.rng.uniform(math.log(90), math.log(1600)))
        while True:
            book = self.rng.choice(self.books)
            at, got, length = self.rng.randrange(len(book) - 5), [], 0
            for p in book[at:at + 120]:
                if length and length + len(p) > size * 1.1:
                    break
                got.append(sentences(p.strip()))
                length += len(p) + 2
                if length > size * 0.8:
                    break
            if size * 0.6 < length < size * 1.15 and sum(map(len, got)) >= 4:
                return got

    def planted(self, doc, asked):
        statement, questions = self.rng.choice(FACTS)
        fill = {k: self.rng.choice(v) for k, v in FILL.items()}
        fill.update(n=self.rng.randrange(10 ** self.rng.randrange(2, 6)) + 10, year=self.rng.randrange(1700, 2030))
        paragraph = self.rng.choice(doc)
        statement = statement.format(**fill)
        question = self.rng.choice(questions).format(**fill)
        if question in asked:
            return None
        paragraph.insert(self.rng.randrange(len(paragraph) + 1), statement)
        return question, statement

    def candidates(self, flat):
        return [s for s in flat if 5 <= len(s.split()) <= 40]

    def quote(self, doc, flat):
        """Asks by the two or three rarest words of a sentence, in their order."""
        choices = self.candidates(flat)
        if not choices:
            return None
        s = self.rng.choice(choices)
        count = Counter(w.lower() for t in flat for w in set(WORD.findall(t)))
        words = [w for w in dict.fromkeys(WORD.findall(s)) if count[w.lower()] == 1 and len(w) > 3]
        words = sorted(words, key=self.rarity, reverse=True)[:self.rng.choice((1, 2, 2, 3))]
        if not words:
            return None
        words = [w for w in dict.fromkeys(WORD.findall(s)) if w in words]
        topic = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
        return self.rng.choice(QUOTE).format(topic), s

    def opening(self, doc, flat):
        choices = [s for s in self.candidates(flat) if len(s.split()) >= 8]
        if not choices:
            return None
        s = self.rng.choice(choices)
        start = " ".join(s.split(" ")[:self.rng.randrange(3, 6)])
        if '"' in start or sum(t.startswith(start) for t in flat) > 1:
            return None
        return self.rng.choice(OPENING).format(start), s

    def person(self, doc, flat):
        """A name that a single sentence mentions, not at its beginning."""
        found = {}
        for s in flat:
            for m in re.finditer(r"(?<=[a-z,;] )(?:(?:Mr|Mrs|Miss|Dr|Sir|Lady|Lord|Captain)\.? )?[A-Z][a-z]+(?: [A-Z][a-z]+)?", s):
                found.setdefault(m.group(), set()).add(s)
        choices = [(n, next(iter(ss))) for n, ss in found.items() if len(ss) == 1 and len(n) > 3]
        choices = [(n, s) for n, s in choices if 5 <= len(s.split()) <= 40]
        if not choices:
            return None
        name, s = self.rng.choice(choices)
        return self.rng.choice(PERSON).format(name), s

    def summary(self, doc, flat):
        """Two to six sentences: the words that the document repeats, the beginning preferred, in the text's order."""
        content = [{w.lower() for w in WORD.findall(s) if self.rarity(w) > 2.0} for s in flat]
        weight = Counter(w for c in content for w in c)
        firsts = {p[0] for p in doc}
        scores = {}
        for i, (s, c) in enumerate(zip(flat, content)):
            length = len(s.split())
            if not 6 <= length <= 45 or not c:
                continue
            repeated = sum(math.sqrt(weight[w] - 1) * self.rarity(w) for w in c) / math.sqrt(3 + len(c))
            scores[i] = repeated * (1.25 if s in firsts else 1.0) * (1.6 if i == 0 else 1.15 if i < 4 else 1.0) \
                * (0.7 if '"' in s else 1.0)
        tokens = sum(map(len, flat)) / 3.85
        wanted = 2 + (tokens > 250) + (tokens > 500) + (tokens > 900) + (tokens > 1300)
        best = sorted(sorted(scores, key=scores.get, reverse=True)[:wanted])
        if len(best) < 2:
            return None
        return self.rng.choice(SUMMARY), " ".join(flat[i] for i in best)

    def example(self):
        """(document, [(instruction, answer), ...])"""
        doc, turns = self.document(), []
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            if fact := self.planted(doc, [q for q, _ in turns]):
                turns.append(fact)
        flat = [s for p in doc for s in p]
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            kind = self.rng.choices((self.quote, self.opening, self.person, self.summary), (3, 2, 2, 4))[0]
            turn = kind(doc, flat)
            if turn and turn[1] not in [a for _, a in turns]:
                turns.append(turn)
        self.rng.shuffle(turns)
        return "\n\n".join(" ".join(p) for p in doc), turns[:4]

    def encoded(self):
        """(ids, answer mask) of an example that fits into 2048 positions and has a turn."""
        while True:
            document, turns = self.example()
            if not turns:
                continue
            ids, mask = [], []
            for i, (instruction, answer) in enumerate(turns):
                question = self.tok.prompt(document, instruction) if i == 0 else \
                    [self.tok.USER, *self.tok.encode(instruction, first=False), self.tok.END, self.tok.ASSISTANT]
                answer = [*self.tok.encode(answer, first=False), self.tok.END]
                ids += question + answer
                mask += [0] * len(question) + [1] * len(answer)
            if len(ids) <= 2049:
                return np.array(ids, np.uint16), np.array(mask, np.uint8)


def _part(job):
    data, model, count, seed, part, parts = job
    texts = [t for _, t in books(data, "train")][part::parts]
    maker = Maker(texts, Tokenizer(model), seed * 1000 + part)
    return [maker.encoded() for _ in range(count)]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("data", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--examples", type=int, default=9000)
    ap.add_argument("--show", type=int, default=0)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    model = args.out / "tokenizer.model"
    if args.show:
        maker = Maker([t for _, t in books(args.data, "train")][::20], Tokenizer(model), args.seed)
        for _ in range(args.show):
            document, turns = maker.example()
            print("=" * 100, document, *(f"--- {q}\n    {a}" for q, a in turns), sep="\n")
        return
    jobs = [(args.data, model, args.examples // args.jobs, args.seed, i, args.jobs) for i in range(args.jobs)]
    with Pool(args.jobs) as pool:
        made = [x for part in pool.map(_part, jobs) for x in part]
    ids, answer = (np.concatenate(x) for x in zip(*made))
    ends = np.cumsum([len(x) for x, _ in made])
    np.savez(args.out / "tasks.npz", ids=ids, answer=answer, ends=ends)
    print(f"{len(made)} examples, {len(ids)} tokens, {answer.sum()} of them in answers")


if __name__ == "__main__":
    main()
