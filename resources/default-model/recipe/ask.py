"""Asks an exported model, as the application does: a document, then an instruction or a question.

    python ask.py OUT MODEL.gguf DOCUMENT.txt "Summarize the text above." "Where was the key?"   (OUT: tokenizer.model)
"""
import argparse
from pathlib import Path

import torch

from corpus import normalize
from evaluate import load
from tokenizer import Tokenizer


@torch.inference_mode()
def answer(model, tok: Tokenizer, ids: list[int], limit: int = 200) -> list[int]:
    """Greedy continuation until <|end|>."""
    out = []
    while len(out) < limit and len(ids) + len(out) < model.cfg.context:
        hidden = model.hidden(torch.tensor([ids + out]))[0, -1]
        best = int((model.embed.weight @ hidden).argmax())
        if best in (tok.END, tok.EOS):
            break
        out.append(best)
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", type=Path)
    ap.add_argument("gguf", type=Path)
    ap.add_argument("document", type=Path)
    ap.add_argument("instruction", nargs="+", help="each is asked on its own, right after the document")
    args = ap.parse_args()
    model, tok = load(args.gguf), Tokenizer(args.out / "tokenizer.model")
    document = normalize(args.document.read_text(encoding="utf-8")).strip()
    for instruction in args.instruction:
        ids = tok.prompt(document, normalize(instruction))
        print(f"> {instruction}   ({len(ids)} tokens)\n{tok.decode(answer(model, tok, ids))}\n")


if __name__ == "__main__":
    main()
