#!/usr/bin/env python3
"""Tests the output of every task of speed-bench on the CPU with a tiny random model.
Usage: speed_test.py SPEED_BENCH RANDOM_MODEL"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SPEED_BENCH, RANDOM_MODEL = sys.argv[1:3]
SMALL = ["--device", "cpu", "--threads", "1", "--chunk", "32", "--rows", "64", "--decode", "4", "--budgets", "48,64",
         "--policies", "streaming;treekv", "--tokens", "160", "--stream", "512", "--window", "128", "--stream-budget", "48",
         "--stream-policies", "treekv;lacache", "--depths", "64,128", "--depth-budgets", "48,full"]


class SpeedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="palimpsest-test-")
        cls.model = os.path.join(cls.folder.name, "tiny.gguf")
        subprocess.run([RANDOM_MODEL, cls.model, "--shape", "tiny", "--type", "f16"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def lines(self, *words, code=0):
        run = subprocess.run([SPEED_BENCH, self.model, *SMALL, *words], capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stderr)
        return [json.loads(line) for line in run.stdout.splitlines()]

    def test_speeds_name_the_work_and_repeat_what_was_generated(self):
        first, second = self.lines("--tasks", "speeds"), self.lines("--tasks", "speeds")
        self.assertEqual([(l["budget"], l["policy"]) for l in first],
                         [(48, "streaming"), (48, "treekv"), (64, "streaming"), (64, "treekv")])
        for line in first:
            for name in ("prefill_tokens_per_second", "prefill_flops_per_token", "decode_tokens_per_second",
                         "decode_bytes_per_token"):
                self.assertGreater(line[name], 0, name)
            self.assertNotIn("launches_per_token", line)
        self.assertEqual([l["ids"] for l in first], [l["ids"] for l in second])

    def test_a_stream_is_measured_window_by_window(self):
        found = self.lines("--tasks", "stream")
        for policy in ("treekv", "lacache"):
            windows = [l for l in found if l["bench"] == "window" and l["policy"] == policy]
            self.assertEqual([l["tokens_seen"] for l in windows], [128, 256, 384, 512])
            self.assertTrue(all(l["host_bytes"] > 0 for l in windows))
            end = [l for l in found if l["bench"] == "stream" and l["policy"] == policy]
            self.assertEqual([(l["tokens_seen"], l["asked"], len(l["windows"])) for l in end], [(524, 512, 4)])
            self.assertGreater(end[0]["late_over_early"], 0)

    def test_a_budget_holds_at_every_depth_and_the_full_cache_grows(self):
        found = {(l["policy"], l["depth"]): l for l in self.lines("--tasks", "depths")}
        self.assertEqual(sorted(found), [("full", 64), ("full", 128), ("treekv", 64), ("treekv", 128)])
        self.assertEqual(found["treekv", 64]["kv_bytes"], found["treekv", 128]["kv_bytes"])
        self.assertEqual(found["treekv", 64]["ranks"], 48)
        self.assertEqual(found["full", 128]["ranks"], 128 + 12)
        self.assertGreater(found["full", 128]["decode_bytes_per_token"], found["treekv", 128]["decode_bytes_per_token"])

    def test_what_there_is_no_time_for_is_said(self):
        self.assertTrue(all("left_out" in l for l in self.lines("--tasks", "speeds=0,stream=0,depths=0")))

    def test_a_policy_that_is_none_does_not_end_the_others(self):
        found = self.lines("--tasks", "speeds", "--policies", "nothing;streaming", code=1)
        self.assertEqual(["error" in l for l in found], [True, False, True, False])

    def test_a_wrong_line_is_refused(self):
        for words in (["--tasks", "everything"], ["--depths", "128,64"], ["--budgets", "x"], ["--decode"], ["--nothing", "1"]):
            run = subprocess.run([SPEED_BENCH, self.model, *words], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout, "usage" in run.stderr), (2, "", True), words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
