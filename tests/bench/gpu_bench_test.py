#!/usr/bin/env python3
"""Runs every operation of gpu-bench once on the emulator. Usage: gpu_bench_test.py GPU_BENCH"""
import json
import subprocess
import sys
import unittest

GPU_BENCH = sys.argv[1]
OPERATIONS = {"linear", "feed_forward", "embed", "stage", "attend", "decode_attend", "compact", "drop", "straighten",
              "gather", "bound_pages", "accumulate", "evict"}


class GpuBenchTest(unittest.TestCase):
    def lines(self, *words):
        run = subprocess.run([GPU_BENCH, *words], capture_output=True, text=True)
        return run, [json.loads(line) for line in run.stdout.splitlines()]

    def test_every_operation_runs_and_counts_its_launches(self):
        run, lines = self.lines("--once")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        once = [line for line in lines if "once" in line]
        self.assertLessEqual(OPERATIONS, {line["once"].split()[0] for line in once})
        for line in once:
            self.assertNotIn("error", line)
            # Operations that are not listed may have nothing to launch.
            if line["once"].split()[0] in ("linear", "feed_forward", "embed", "stage", "attend", "decode_attend", "accumulate",
                                                 "evict"):
                self.assertGreater(line["launches"], 0, line)

    def test_the_device_says_what_it_is(self):
        run, lines = self.lines("--probe")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(lines[0]["memory_bytes"], 0)
        self.assertGreaterEqual(lines[0]["memory_bytes"], lines[0]["free_bytes"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
