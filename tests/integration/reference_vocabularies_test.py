"""Compares token ids with those that llama.cpp's source lists for real vocabularies.

    python reference_vocabularies_test.py MODEL_PROBE MODELS

MODEL_PROBE is the program model-probe. MODELS is the folder models/ of llama.cpp's source, which is also in PyPI's
source package llama-cpp-python (vendor/llama.cpp/models); each ggml-vocab-NAME.gguf there has texts (.inp) and ids
(.out). No file from there is in this repository. Without the folder the test prints "not run" and exits with 77.
"""
import json
import subprocess
import sys
from pathlib import Path

SEPARATOR = "\n__ggml_vocab_test__\n"
# WordPiece: not used by models that generate text.
NOT_SUPPORTED = {"bert-bge"}


def encode(program, vocabulary, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([program, "encode", vocabulary], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return [json.loads(line) for line in done.stdout.splitlines()], ""


def main():
    program, folder = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None
    vocabularies = sorted(folder.glob("ggml-vocab-*.gguf")) if folder else []
    vocabularies = [v for v in vocabularies if Path(f"{v}.inp").exists()]
    if not vocabularies:
        print("not run: llama.cpp's models/ggml-vocab-*.gguf are not there")
        return 77
    failures = 0
    for vocabulary in vocabularies:
        name = vocabulary.stem.removeprefix("ggml-vocab-")
        if name in NOT_SUPPORTED:
            print(f"{name}: not supported, as expected")
            continue
        texts = Path(f"{vocabulary}.inp").read_text(encoding="utf-8").split(SEPARATOR)
        expected = [[int(word) for word in line.split()] for line in Path(f"{vocabulary}.out").read_text().splitlines()]
        texts = texts[:len(expected)]
        ids, error = encode(program, str(vocabulary), texts)
        if ids is None:
            print(f"{name}: FAILED: {error}")
            failures += 1
            continue
        wrong = [i for i, (ours, theirs) in enumerate(zip(ids, expected, strict=True)) if ours != theirs]
        print(f"{name}: {len(expected) - len(wrong)} of {len(expected)} texts have the same ids")
        for i in wrong[:5]:
            print(f"  {texts[i]!r}\n    ours   {ids[i]}\n    theirs {expected[i]}")
        failures += len(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
