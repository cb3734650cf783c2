#!/usr/bin/env python3
"""Tests of tests/quality/perplexity.py, with a program that only prints what it was asked for."""
import contextlib
import io
import json
import math
import os
import sys
import tempfile
import unittest

import perplexity

PROGRAM = """#!%s
import json, sys
words = sys.argv
policy = words[words.index("--policy") + 1]
with open(words[0] + ".log", "a") as log:
    log.write(policy + " " + words[3] + "\\n")
if policy == "unknown":
    sys.exit("no policy has this name")
print(json.dumps({"model": {"fingerprint": "f"}, "results": [{"tokens_predicted": 7, "mean_loss": 2.0, "by_length": [],
    "policy": {"positions": "contiguous", "chunk": 64}, "memory": {}}]}))
""" % sys.executable


def line(policy, text, losses):
    return {"policy": policy, "budget": "512", "text": text, "tokens": 9, "mean_loss": losses[-1][1], "first": None, "options": [],
            "by_length": [{"length": length, "mean_loss": loss} for length, loss in losses]}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.results = os.path.join(self.folder.name, "results.jsonl")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, lines):
        with open(self.results, "w") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)

    def printed(self, *words):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.code = perplexity.main(list(words))
        return out.getvalue()


class Measuring(Folder):
    def measure(self, policies):
        program = os.path.join(self.folder.name, "program")
        if not os.path.exists(program):
            with open(program, "w") as out:
                out.write(PROGRAM)
            os.chmod(program, 0o755)
        self.printed("measure", program, "a.txt", "b.txt", "--results", self.results, "--policies", policies, "--jobs", "2", "--",
                     "--device", "cpu")
        with open(program + ".log") as log:
            return sorted(log.read().splitlines())

    def test_what_was_measured_is_not_measured_again_and_what_failed_is(self):
        first = self.measure("streaming;unknown")
        self.assertEqual(first, ["streaming a.txt", "streaming b.txt", "unknown a.txt", "unknown b.txt"])
        self.assertEqual(self.code, 1)
        second = self.measure("streaming;unknown;treekv:rule=left,sinks=4")
        self.assertEqual(second, sorted(first + ["treekv:rule=left,sinks=4 a.txt", "treekv:rule=left,sinks=4 b.txt",
                                                 "unknown a.txt", "unknown b.txt"]))
        lines = perplexity.read(self.results)
        self.assertEqual({l["error"] for l in lines if l["policy"] == "unknown"}, {"no policy has this name"})
        self.assertEqual({(l["mean_loss"], l["tokens"]) for l in lines if l["policy"] == "streaming"}, {(2.0, 7)})


class Reports(Folder):
    def test_a_policy_is_compared_on_the_same_texts(self):
        self.write([line("streaming", "a", [(4, 3.0)]), line("streaming", "b", [(4, 1.0)]),
                    line("better", "a", [(4, 3.0 + math.log(0.5))]), line("better", "b", [(4, 1.0 + math.log(0.5))]),
                    line("half", "b", [(4, 1.0 + math.log(2))]), {"error": "no", **line("half", "a", [(4, 0.0)])}])
        rows = [row for row in self.printed("tables", self.results).splitlines() if row.startswith("| ")][1:]
        self.assertEqual(rows, ["| better | 0.5000 (0.5000 to 0.5000) |", "| streaming | 1.0000 (1.0000 to 1.0000) |",
                                "| half | 2.0000 (2.0000 to 2.0000), 1 texts |"])

    def test_a_policy_is_compared_with_another_at_a_budget_of_its_own(self):
        self.write([{**line("full", "a", [(4, 1.0)]), "budget": "4096"}, line("small", "a", [(4, 1.0 + math.log(2))])])
        out = self.printed("tables", self.results, "--beside", "full@4096")
        self.assertIn("Budget 512", out)
        self.assertIn("| small | 2.0000 (2.0000 to 2.0000) |", out)
        self.assertNotIn("Budget 4096", out)

    def test_the_interval_is_that_of_means_of_texts_drawn_again(self):
        low, high = perplexity.interval([-1.0] * 50 + [1.0] * 50)
        self.assertAlmostEqual(low, -0.196, delta=0.03)  # 1.96 standard deviations of a mean of 100
        self.assertAlmostEqual(high, 0.196, delta=0.03)

    def test_curves_take_the_losses_before_a_length_off_those_before_the_next(self):
        # Losses of the tokens 1 to 3, then of 4 to 7: the first token of a text has none.
        a, b = [1.0, 2.0, 3.0], [5.0, 5.0, 5.0, 9.0]
        self.write([line("streaming", "a", [(4, sum(a) / 3), (8, sum(a + b) / 7)])])
        self.assertIn("| streaming | %.2f | %.2f |" % (math.exp(2.0), math.exp(6.0)), self.printed("curves", self.results))
        self.assertIn("0 and 4 | 4 and 8", self.printed("curves", self.results, "--budget", "512"))
        self.assertEqual(self.printed("curves", self.results, "--budget", "256"), "")


if __name__ == "__main__":
    unittest.main()
