"""The corpus: book files, the text mapping, and the token file that training reads.

    python corpus.py DATA OUT        (needs OUT/tokenizer.model, see tokenizer.py)

DATA holds books-train/ (or books-train.tar.xz) and books-eval/.
OUT receives train.bin (uint16 ids) and eval.bin, each with a .json that says where every book lies.
A book is `<s> text </s>`; the first piece of its text carries the dummy prefix, as a fresh stream does.
"""
import argparse
import json
import re
import tarfile
import unicodedata
from multiprocessing import Pool
from pathlib import Path

import numpy as np

NORMALIZER = "books-1"  # name of `normalize` below, written into the GGUF

_SINGLE = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a`\u00b4\u02bc"), "'")
_DOUBLE = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb"), '"')
_HYPHEN = dict.fromkeys(map(ord, "\u2010\u2011\u2043\u2212\ufe63\uff0d"), "-")
_GONE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"), None)
_SPACE = dict.fromkeys(map(ord, "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
                               "\u200a\u202f\u205f\u3000"), " ")
_LETTER = {0x17F: "s", 0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl",
           0xFB05: "st", 0xFB06: "st"}
_TABLE = {**_SINGLE, **_DOUBLE, **_HYPHEN, **_GONE, **_SPACE, **_LETTER}


def normalize(text: str) -> str:
    """The mapping "books-1": what the books went through, to be applied to any text before the tokenizer."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    text = text.translate(_TABLE)
    text = re.sub(r"(?<=\d)\u2013(?=\d)", "-", text)
    text = re.sub(r" *[\u2012\u2013\u2014\u2015]+ *", "--", text)
    text = text.replace("\u2026", "...")
    text = re.sub(r"\.(?: ?\.){2,}", "...", text)
    text = re.sub(r" {2,}", " ", text)
    return unicodedata.normalize("NFC", text)


def books(data: Path, split: str) -> list[tuple[str, str]]:
    """(name, text) of every book of a split, in order of name."""
    folder, archive = data / f"books-{split}", data / f"books-{split}.tar.xz"
    if folder.is_dir():
        return [(p.name, p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.txt"))]
    with tarfile.open(archive) as tar:
        members = sorted((m for m in tar if m.isfile() and m.name.endswith(".txt")), key=lambda m: m.name)
        return [(Path(m.name).name, tar.extractfile(m).read().decode("utf-8")) for m in members]


_tok = None


def _start(model: str):
    global _tok
    from tokenizer import Tokenizer
    _tok = Tokenizer(model)


def _encode_book(text: str) -> np.ndarray:
    return np.array([_tok.BOS, *_tok.encode(text, first=True), _tok.EOS], dtype=np.uint16)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("data", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--jobs", type=int, default=2)
    args = ap.parse_args()
    for split in ("eval", "train"):
        names, texts = zip(*books(args.data, split))
        with Pool(args.jobs, _start, (str(args.out / "tokenizer.model"),)) as pool:
            ids = pool.map(_encode_book, texts, chunksize=4)
        np.concatenate(ids).tofile(args.out / f"{split}.bin")
        ends = np.cumsum([len(x) for x in ids]).tolist()
        rows = [dict(name=n, begin=e - len(x), end=e, chars=len(t)) for n, e, x, t in zip(names, ends, ids, texts)]
        (args.out / f"{split}.json").write_text(json.dumps(rows, indent=0))
        print(f"{split}: {len(rows)} books, {ends[-1]} tokens, {sum(map(len, texts)) / ends[-1]:.3f} characters per token")


if __name__ == "__main__":
    main()
