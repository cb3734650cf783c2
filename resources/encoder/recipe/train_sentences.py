#!/usr/bin/env python3
"""Trains what reads a question and a sentence together and says whether the sentence answers it.

    train_sentences.py ENCODER CHANGE BOOKS OUT.safetensors [--rank 32] [--steps N] [--rate 5e-5] [--keep FILE]

ENCODER is the folder that packaging/get-model --encoder installs, CHANGE the change of it that train.py wrote, BOOKS the folder of
the training split's texts. Needs what requirements.txt says; about an hour on two cores.

The encoder reads [CLS] question [SEP] sentence [SEP] the two sentences before it in its passage [SEP], and a row of
numbers turns the state of [CLS] into a score (Nogueira, Cho 2019, section 3). Of one sentence that holds the evidence and
five that do not, two of the same passage and three of the book's other passages that are nearest to the question, the
right one is to have the highest score. What was learnt is reduced to its largest singular values and written as
engine/encoder/encoder_change.h reads it, on top of CHANGE.
"""
import argparse
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

import train

QUESTIONS = 16  # in a step
AT_ONCE = 12  # sentences
OWN, OTHER = 2, 3  # wrong sentences of the same passage, and of others
HARD = 12  # of so many nearest wrong sentences of other passages they are taken
LONGEST = 64, 96, 80  # tokens of a question, a sentence, and what is before it, of which the last ones count


def apply_change(net, change):
    state, parts = net.state_dict(), load_file(change)
    for name, part in parts.items():
        weight, kind = name.rsplit(".", 1)
        if kind == "add":
            state[weight] += part.float()
        elif kind == "up":
            state[weight] += part.float() @ parts[weight + ".down"].float()


class Pairs:
    """Question, sentence and what is before it as tokens, cut as the program cuts them."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.kept = {}

    def tokens(self, text, longest, is_before):
        if text not in self.kept:
            self.kept[text] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return self.kept[text][-longest:] if is_before else self.kept[text][:longest]

    def rows(self, triples):
        rows = []
        for parts in triples:
            row = [self.tokenizer.cls_token_id]
            for i, (part, longest) in enumerate(zip(parts, LONGEST)):
                row += self.tokens(part, longest, i == 2) + [self.tokenizer.sep_token_id]
            rows.append(row)
        return rows


class Sentences:
    """The sentences of all passages, with the two before each, and for each line of questions.jsonl which are right."""

    def __init__(self, books):
        texts, of_book = {}, {}
        self.sentences, self.before, self.windows, self.lines = [], [], [], []
        for line in train.read_questions():
            book = line["book"]
            if book not in texts:
                texts[book] = (books / f"{book}.txt").read_text(encoding="utf-8")
            begin, end = line["passage"]
            passage = texts[book][begin:end]
            parts, first, right = train.sentences(passage), len(self.sentences), []
            for i, (a, b) in enumerate(parts):
                if begin + a < line["evidence"][1] and begin + b > line["evidence"][0]:
                    right.append(len(self.sentences))
                last = i
                while last + 1 < len(parts) and parts[last][1] - a < train.WINDOW:
                    last += 1
                self.sentences.append(" ".join(passage[a:b].split()))
                self.windows.append(" ".join(passage[a:parts[last][1]].split()))
                self.before.append(" ".join(self.sentences[max(first, len(self.sentences) - 3):-1]))
            own = [i for i in range(first, len(self.sentences)) if i not in right]
            of_book.setdefault(book, []).append((own, list(range(first, len(self.sentences)))))
            self.lines.append({"questions": (line["direct"], line["paraphrased"]), "right": right, "own": own, "book": book})
        for line in self.lines:
            line["wrong"] = [s for own, all_of_it in of_book[line["book"]] if own is not line["own"] for s in all_of_it]

    def examples(self, question, line, embeddings):
        """Of one question: a right sentence, then wrong ones."""
        other = line["wrong"]
        nearest = (embeddings[other] @ question).topk(min(HARD, len(other))).indices.tolist() if other else []
        own = random.sample(line["own"], min(OWN, len(line["own"])))
        wrong = own + [other[i] for i in random.sample(nearest, min(OWN + OTHER - len(own), len(nearest)))]
        while len(wrong) < OWN + OTHER:
            wrong.append(random.randrange(len(self.sentences)))
        return [random.choice(line["right"])] + wrong


class CrossEncoder(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.score = torch.nn.Linear(net.config.hidden_size, 1, bias=False)
        torch.nn.init.normal_(self.score.weight, std=0.02)

    def forward(self, rows):
        """Scores of rows of tokens, some at a time: rows of like length, so that little is padded."""
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        scores = []
        for at in range(0, len(order), AT_ONCE):
            some = [rows[i] for i in order[at:at + AT_ONCE]]
            ids = torch.zeros(len(some), len(some[-1]), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for i, row in enumerate(some):
                ids[i, :len(row)] = torch.tensor(row)
                mask[i, :len(row)] = 1
            scores.append(self.score(self.net(input_ids=ids, attention_mask=mask)[0][:, 0])[:, 0])
        return torch.cat(scores)[torch.tensor(order).argsort()]


def fit(cross, pairs, examples, embeddings, asked, options):
    parameters = [p for name, p in cross.named_parameters() if not train.is_left_out(name.removeprefix("net."))]
    for name, parameter in cross.named_parameters():
        parameter.requires_grad_(not train.is_left_out(name.removeprefix("net.")))
    optimizer = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.01)
    items = [(i, kind) for i in range(len(examples.lines)) for kind in (0, 1)]
    random.shuffle(items)
    steps, begin, mean = min(options.steps or len(items), len(items) // QUESTIONS), time.time(), None
    for step in range(steps):
        triples = []
        for i, kind in items[step * QUESTIONS:(step + 1) * QUESTIONS]:
            line = examples.lines[i]
            for s in examples.examples(asked[2 * i + kind], line, embeddings):
                triples.append((line["questions"][kind], examples.sentences[s], examples.before[s]))
        for group in optimizer.param_groups:
            group["lr"] = options.rate * min(1, (step + 1) / 40) * max(0.02, 1 - step / steps)
        scores = cross(pairs.rows(triples)).view(QUESTIONS, 1 + OWN + OTHER)
        loss = F.cross_entropy(scores, torch.zeros(QUESTIONS, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 20 == 19:
            print(f"step {step + 1} of {steps}, loss {mean:.3f}, {time.time() - begin:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder", type=Path)
    parser.add_argument("change", type=Path)
    parser.add_argument("books", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--steps", type=int, help="fewer than one pass over all questions")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--keep", type=Path, help="a file for the whole weights; embeddings of CHANGE are kept beside it")
    options = parser.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    encoder = train.Encoder(options.encoder)
    apply_change(encoder.net, options.change)
    encoder.net.train(False)  # no dropout: so few steps do not need it
    before = {name: weight.clone() for name, weight in encoder.net.state_dict().items()}
    examples = Sentences(options.books)
    print(f"{len(examples.lines)} passages, {len(examples.sentences)} sentences", flush=True)
    cache = options.keep and options.keep.with_suffix(".npy")
    embeddings = train.encode_all(encoder, examples.windows, cache)
    asked = train.encode_all(encoder, [q for line in examples.lines for q in line["questions"]],
                             options.keep and options.keep.with_suffix(".questions.npy"))
    print("encoded", flush=True)
    cross = CrossEncoder(encoder.net)
    fit(cross, Pairs(encoder.tokenizer), examples, embeddings, asked, options)
    if options.keep:
        torch.save(cross.state_dict(), options.keep)
    change = train.change_of(before, encoder.net.state_dict(), options.rank)
    change["score"] = cross.score.weight.detach()[0].clone()
    save_file(change, options.out)


if __name__ == "__main__":
    main()
