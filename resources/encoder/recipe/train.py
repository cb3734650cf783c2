#!/usr/bin/env python3
"""Trains the change of a sentence encoder that finds passages of books for questions about them.

    train.py ENCODER BOOKS OUT.safetensors [--rank 32] [--epochs 2] [--rate 3e-5] [--temperature 0.05] [--cache FILE] [--keep FILE]

ENCODER is the folder that packaging/get-model --encoder installs, BOOKS the folder of the training split's texts. Needs
what requirements.txt says; about an hour on two cores.

A passage is cut into windows as the program cuts it, about 30 tokens from every sentence on. A question (questions.jsonl has two
for each passage) is to be nearer to a window of its evidence than to the evidence of the batch's other questions, and than to one
hard window for each of them: one of the windows of the same book's other passages that are nearest to the question, which are sought
anew in each pass over the questions (Karpukhin et al. 2020, section 3.2; Xiong et al. 2021). Rarely, the one of a question is of
another's own passage. What was learnt is reduced to its largest singular values and written as engine/encoder/encoder_change.h
reads it. The word embeddings stay as they are.
"""
import argparse
import json
import random
import re
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import AutoModel, AutoTokenizer

HERE = Path(__file__).resolve().parent
WINDOW = 130  # characters
BATCH = 32
HARD = 6  # of so many nearest wrong windows one is shown
ABBREVIATION = re.compile(r"\b(Mr|Mrs|Dr|St|Miss|Capt|Col|Gen|Lieut|Rev|Hon|Prof|[A-Z])\.\s*$")


def sentences(text):
    """The sentences of a text, as pairs of first and end character."""
    found, begin = [], 0
    for end in [m.end() for m in re.finditer(r"[.!?][\"')]*\s+(?=[\"'(A-Z])", text)] + [len(text)]:
        if found and ABBREVIATION.search(text[found[-1][0]:found[-1][1]]):
            found[-1] = (found[-1][0], end)
        elif end > begin:
            found.append((begin, end))
        begin = end
    return found


def windows(text):
    """From every sentence on, as many as make a window; the last ones that would only repeat its end are left out."""
    parts = sentences(text)
    found = []
    for i in range(len(parts)):
        last = i
        while last + 1 < len(parts) and parts[last][1] - parts[i][0] < WINDOW:
            last += 1
        found.append((parts[i][0], parts[last][1]))
        if last + 1 == len(parts) and i + 1 < len(parts) and parts[-1][1] - parts[i + 1][0] < WINDOW:
            break
    return found


class Encoder:
    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.net = AutoModel.from_pretrained(folder)

    def __call__(self, texts, longest):
        tokens = self.tokenizer(texts, padding=True, truncation=True, max_length=longest, return_tensors="pt")
        mask = tokens["attention_mask"][..., None].float()
        states = self.net(**tokens)[0]
        return F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


def encode_all(encoder, texts, cache):
    if cache and cache.exists():
        kept = torch.tensor(np.load(cache).astype(np.float32))
        if len(kept) != len(texts):
            raise SystemExit(f"{cache} has {len(kept)} embeddings for {len(texts)} windows: it is of other questions; delete it")
        return kept
    out = torch.zeros(len(texts), encoder.net.config.hidden_size)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    with torch.no_grad():
        for at in range(0, len(order), 64):
            some = order[at:at + 64]
            out[some] = encoder([texts[i] for i in some], 128)
    if cache:
        np.save(cache, out.numpy().astype(np.float16))
    return out


def read_questions():
    return map(json.loads, (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines())


class Examples:
    """The windows of all passages, and for each line of questions.jsonl which of them hold the evidence."""

    def __init__(self, books):
        texts = {}
        self.texts, self.lines = [], []
        of_book = {}
        for line in read_questions():
            book = line["book"]
            if book not in texts:
                texts[book] = (books / f"{book}.txt").read_text(encoding="utf-8")
            begin, end = line["passage"]
            first = len(self.texts)
            right = []
            for a, b in windows(texts[book][begin:end]):
                if begin + a < line["evidence"][1] and begin + b > line["evidence"][0]:
                    right.append(len(self.texts))
                self.texts.append(" ".join(texts[book][begin + a:begin + b].split()))
            own = list(range(first, len(self.texts)))
            of_book.setdefault(book, []).append(own)
            self.lines.append({"questions": (line["direct"], line["paraphrased"]), "right": right, "own": own, "book": book})
        for line in self.lines:
            line["wrong"] = [w for own in of_book[line["book"]] if own is not line["own"] for w in own]


def is_left_out(name):
    """Whether the change leaves out this tensor: word, position and type embeddings, and the pooler, which is not used."""
    return "pooler" in name or (name.startswith("embeddings.") and "LayerNorm" not in name)


def hard_window(question, line, embeddings):
    """One of the windows of the book's other passages that are nearest to the question."""
    wrong = line["wrong"]
    nearest = (embeddings[wrong] @ question).topk(min(HARD, len(wrong))).indices
    return wrong[int(random.choice(nearest))]


def loss_of(encoder, texts, embeddings, lines, batch, temperature):
    asked = encoder([lines[i]["questions"][kind] for i, kind in batch], 64)
    evidence = [random.choice(lines[i]["right"]) for i, _ in batch]
    hard = [hard_window(question, lines[i], embeddings) for question, (i, _) in zip(asked.detach(), batch)]
    likeness = asked @ encoder([texts[w] for w in evidence + hard], 96).T / temperature
    same = torch.tensor([[j == i and column != row for column, (j, _) in enumerate(batch)] for row, (i, _) in enumerate(batch)])
    likeness[:, :len(batch)] = likeness[:, :len(batch)].masked_fill(same, -1e4)
    return F.cross_entropy(likeness, torch.arange(len(batch)))


def train(encoder, examples, options):
    for name, parameter in encoder.net.named_parameters():
        parameter.requires_grad_(not is_left_out(name))
    lines, parameters = examples.lines, [p for p in encoder.net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.01)
    items = [(i, kind) for i in range(len(lines)) for kind in (0, 1)]
    steps, step, begin = options.epochs * (len(items) // BATCH), 0, time.time()
    for epoch in range(options.epochs):
        embeddings = encode_all(encoder, examples.texts, options.cache if epoch == 0 else None)
        random.shuffle(items)
        for at in range(0, len(items) - BATCH + 1, BATCH):
            for group in optimizer.param_groups:
                group["lr"] = options.rate * min(1, (step + 1) / 20) * max(0.05, 1 - step / steps)
            loss = loss_of(encoder, examples.texts, embeddings, lines, items[at:at + BATCH], options.temperature)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            step += 1
            if step % 25 == 0:
                print(f"step {step} of {steps}, loss {loss.item():.3f}, {time.time() - begin:.0f} s", flush=True)
        if options.keep:
            torch.save(encoder.net.state_dict(), f"{options.keep}.{epoch + 1}")


def change_of(before, after, rank):
    """The tensors of the change: matrices in low rank, vectors whole."""
    change = {}
    for name, weight in before.items():
        difference = after[name] - weight
        if is_left_out(name):
            continue
        if difference.dim() == 1:
            change[name + ".add"] = difference.half()
        elif difference.dim() == 2:
            u, s, v = torch.linalg.svd(difference, full_matrices=False)
            root = s[:rank].sqrt()
            change[name + ".up"] = (u[:, :rank] * root).half().contiguous()
            change[name + ".down"] = (root[:, None] * v[:rank]).half().contiguous()
    return change


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder", type=Path)
    parser.add_argument("books", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--temperature", type=float, default=0.05)
    parser.add_argument("--cache", type=Path, help="a .npy file that keeps the embeddings of the windows")
    parser.add_argument("--keep", type=Path, help="a file for the whole weights after each pass, its number behind the name")
    options = parser.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    encoder = Encoder(options.encoder)
    before = {name: weight.clone() for name, weight in encoder.net.state_dict().items()}
    examples = Examples(options.books)
    print(f"{len(examples.lines)} passages, {len(examples.texts)} windows", flush=True)
    encoder.net.train(False)  # no dropout: so few steps do not need it
    train(encoder, examples, options)
    save_file(change_of(before, encoder.net.state_dict(), options.rank), options.out)


if __name__ == "__main__":
    main()
