"""The tokenizer: sentencepiece BPE with 8192 pieces.

    python tokenizer.py DATA OUT     trains on a sample of the training books, writes OUT/tokenizer.model
"""
import argparse
import random
from pathlib import Path

import sentencepiece as spm

CONTROL = ["<|user|>", "<|assistant|>", "<|end|>"]


class Tokenizer:
    """The first text of a stream is encoded with the dummy prefix (a leading space), all later text without."""
    UNK, BOS, EOS, USER, ASSISTANT, END, NEWLINE = range(7)

    def __init__(self, model):
        self.sp = spm.SentencePieceProcessor(model_file=str(model))
        self.size = self.sp.vocab_size()

    def encode(self, text: str, first: bool) -> list[int]:
        # "\n" is a piece of its own and never merges: text may be cut after one (short cuts are faster),
        # and one put in front takes the dummy prefix away from the text
        ids, rest = [], text
        while rest:
            cut = rest.find("\n", 20000) + 1 or len(rest)
            ids += self.sp.encode(rest[:cut]) if first else self.sp.encode("\n" + rest[:cut])[2:]
            rest, first = rest[cut:], False
        return ids

    def decode(self, ids) -> str:
        return self.sp.decode([self.NEWLINE, *map(int, ids)])[1:]

    def prompt(self, document: str, instruction: str) -> list[int]:
        """<s><|user|>DOCUMENT\n\nINSTRUCTION<|end|><|assistant|>"""
        return [self.BOS, self.USER, *self.encode(document, first=True),
                *self.encode("\n\n" + instruction, first=False), self.END, self.ASSISTANT]


def main():
    from corpus import books
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("data", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--sample", type=float, default=48e6, help="characters to train on")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    lines = [line for _, text in books(args.data, "train") for line in text.split("\n") if line]
    random.Random(args.seed).shuffle(lines)
    sample, size = args.out / "tokenizer-sample.txt", 0
    with open(sample, "w", encoding="utf-8") as f:
        for line in lines:
            f.write(line + "\n")
            size += len(line)
            if size > args.sample:
                break
    spm.SentencePieceTrainer.train(
        input=str(sample), model_prefix=str(args.out / "tokenizer"), model_type="bpe", vocab_size=8192,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=True, split_digits=True, character_coverage=0.9999, max_sentence_length=16384,
        unk_id=0, bos_id=1, eos_id=2, pad_id=-1, control_symbols=CONTROL, user_defined_symbols=["\n"],
        num_threads=2, input_sentence_size=0)
    tok = Tokenizer(args.out / "tokenizer.model")
    text = "It was dark.\n\n\"Who is there?\" said <|user|> 1984. Caf\u00e9 \u4e2d"
    assert tok.decode(tok.encode(text, first=False)) == text
    assert tok.decode(tok.encode(text, first=True)).lstrip(" ") == text
    assert not {3, 4, 5} & set(tok.encode(text, first=True))
    assert tok.encode("\nx", first=True)[1] == tok.NEWLINE
    print(tok.size, [tok.sp.id_to_piece(i) for i in (0, 1, 2, 3, 4, 5, 6, 7, 262, 263, 264)])


if __name__ == "__main__":
    main()
