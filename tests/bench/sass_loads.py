#!/usr/bin/env python3
"""What the machine code of CUDA kernels says about waiting for memory, without a card.

    nvcc -cubin ... -o kernels.cubin && cuobjdump -sass kernels.cubin | tests/bench/sass_loads.py [--name PART]

Of every kernel: global loads, those of 16 bytes, the bytes of a thread that are under way at most before one of them is
read ("ahead", along the code as it lies), those before the first barrier or wait for earlier kernels ("first"), local
stores and loads (spills), barriers.
"""
import argparse
import re
import sys

FUNCTION = re.compile(r"Function : (\S+)")
LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Za-z0-9_.]*)\s*([^;]*);")
REGISTER = re.compile(r"\bR(\d+)\b")
WORDS = {"128": 4, "64": 2}


class Kernel:
    def __init__(self, name):
        self.name = name
        self.loads = self.wide = self.ahead = self.first = self.local = self.barriers = 0
        self.waited = False
        self.pending = {}  # register -> number of the load that fills it

    def add(self, operation, operands):
        parts = operation.split(".")
        registers = [int(r) for r in REGISTER.findall(operands)]
        is_load = parts[0] in ("LDG", "LD")
        reads = registers[1:] if is_load or not operands.startswith(("[", "P")) else registers
        if any(r in self.pending for r in reads):
            first = min(self.pending[r] for r in reads if r in self.pending)
            self.pending = {r: load for r, load in self.pending.items() if load > first}
        if is_load and registers:
            self.loads += 1
            words = next((WORDS[p] for p in parts if p in WORDS), 1)
            self.wide += words == 4
            self.first += 0 if self.waited else 4 * words
            for r in range(registers[0], registers[0] + words):
                self.pending[r] = self.loads
            self.ahead = max(self.ahead, 4 * len(self.pending))
        elif parts[0] in ("STL", "LDL"):
            self.local += 1
        elif parts[0] in ("BAR", "ACQBULK"):
            self.waited = True
            self.barriers += parts[0] == "BAR"


def kernels_of(lines):
    kernels = []
    for line in lines:
        if found := FUNCTION.search(line):
            kernels.append(Kernel(found[1]))
        elif kernels and (found := LINE.search(line)):
            kernels[-1].add(found[1], found[2])
    return kernels


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--name", default="", help="only kernels whose mangled name has this part")
    name = options.parse_args().name
    print(f"{'loads':>6} {'wide':>5} {'ahead':>6} {'first':>6} {'local':>6} {'barriers':>9}  kernel")
    for k in kernels_of(sys.stdin):
        if name in k.name:
            print(f"{k.loads:6} {k.wide:5} {k.ahead:6} {k.first:6} {k.local:6} {k.barriers:9}  {k.name}")


if __name__ == "__main__":
    main()
