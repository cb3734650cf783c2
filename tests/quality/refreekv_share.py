#!/usr/bin/env python3
"""Measures the share of tokens that refreekv keeps in its paper's setting (schedule=once, no cap), by the length of
the text: --places passages of each book, the first at its beginning. Prints a Markdown table: the mean share over all
layers with its range, and the mean over the layers above the first two, which keep everything. The paper reports 64 to
87 % on average over its tasks and models.

    tests/quality/refreekv_share.py PALIMPSEST MODEL BOOK... [--lengths 256,512,...] [--places 3]"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

SETTINGS = {
    "paper": "",
    "sinks counted": ",mask_sinks=0",
    "norm of the mean row, sinks counted": ",norm=mean,mask_sinks=0",
    "by score": ",ranking=score",
}


def tokens_of(program, model, book):
    return subprocess.run([program, "tokenize", book, "--model", model], stdout=subprocess.PIPE, check=True).stdout.split()


def kept(program, model, ids, keys):
    """Returns the share of the tokens that each layer keeps."""
    with tempfile.NamedTemporaryFile("wb", suffix=".txt") as file:
        file.write(b"\n".join(ids))
        file.flush()
        words = [program, "inspect", "--token-ids", file.name, "--model", model, "--policy", "refreekv:schedule=once" + keys,
                 "--budget", "none", "--positions", "original", "--layer", "0", "--json"]
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    found = json.loads(result)
    return [size / found["tokens_seen"] for size in found["policy"]["budgets"]["layers"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("books", nargs="+")
    parser.add_argument("--lengths", default="256,512,1024,2048")
    parser.add_argument("--places", type=int, default=3)
    options = parser.parse_args()
    lengths = [int(length) for length in options.lengths.split(",")]
    print("%s, %d books, %d places each\n" % (os.path.basename(options.model), len(options.books), options.places))
    print("| reading | " + " | ".join("%d tokens" % length for length in lengths) + " |")
    print("|---|" + "---|" * len(lengths))
    books = [tokens_of(options.program, options.model, book) for book in options.books]
    for name, keys in SETTINGS.items():
        cells = []
        for length in lengths:
            all_layers, upper = [], []
            for ids in books:
                for place in range(options.places):
                    first = place * (len(ids) - length) // max(options.places, 1)
                    shares = kept(options.program, options.model, ids[first:first + length], keys)
                    all_layers.append(statistics.mean(shares))
                    upper.append(statistics.mean(shares[2:]))
            cells.append("%.0f %% (%.0f–%.0f; %.0f %%)" % (100 * statistics.mean(all_layers), 100 * min(all_layers),
                                                         100 * max(all_layers), 100 * statistics.mean(upper)))
        print("| %s | %s |" % (name, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()
