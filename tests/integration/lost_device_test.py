#!/usr/bin/env python3
"""A GPU that fails midway, and one with too little memory. Usage: lost_device_test.py PALIMPSEST
MODEL_FIXTURES TEST_PLUGINS"""
import json
import os
import subprocess
import sys
import unittest

from patience import PATIENCE
from session_harness import MODEL, PROGRAM, SMALL, ProgramTest, events_of, run, text

FAILING = os.path.join(sys.argv[3], "failing")


class DeviceTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(6000, 8))

    def on_device(self, *arguments, fail_after=None, target=None, free=None, stdin=b"", status=0):
        environment = dict(self.environment, PALIMPSEST_PLUGINS=FAILING)
        for name, value in (("FAIL_AFTER", fail_after), ("TARGET", target), ("FREE_BYTES", free)):
            if value is not None:
                environment["PALIMPSEST_TEST_" + name] = str(value)
        result = subprocess.run([PROGRAM, *arguments, "--device", "cuda"], input=stdin, capture_output=True,
                                timeout=PATIENCE, env=environment)
        self.assertEqual(result.returncode, status, (arguments, result.stderr.decode()))
        return result



class LostDeviceTest(DeviceTest):
    def read(self, name):
        # Interval 0 stores a checkpoint at every opportunity, so that their positions do not depend on the clock.
        return ["read", self.book, "--session", name, *SMALL, "--checkpoint-seconds", "0", "--events", "--json"]

    def losses(self, result):
        return [event for event in events_of(result.stderr) if event.get("event") == "device_lost"]

    def test_a_reading_continues_from_its_last_checkpoint(self):
        whole = self.on_device(*self.read("whole"))
        self.assertEqual(json.loads(whole.stdout)["backend"]["name"], "cuda:0")
        states = [0] + [e["tokens_seen"] for e in events_of(whole.stderr) if e["event"] == "checkpoint"]
        interval = max(after - before for before, after in zip(states, states[1:]))
        lost_in_reading = 0
        for fail_after in (0, 3, 30, 150, 400, 1000, 3000, 8000, 15000, 25000):
            with self.subTest(fail_after=fail_after):
                name = "lost %d" % fail_after
                result = self.on_device(*self.read(name), fail_after=fail_after)
                said = events_of(result.stderr)
                document = json.loads(result.stdout)
                self.assertEqual(self.state(name), self.state("whole"))  # same target: bit for bit
                self.assertEqual(self.faded_bytes(name), self.faded_bytes("whole"))
                self.assertTrue(document["coverage"]["tokens_in_input"] == document["coverage"]["tokens_read"])
                if not self.losses(result):
                    self.assertEqual(document["backend"]["name"], "cuda:0")
                    continue
                self.assertEqual(len(self.losses(result)), 1)
                self.assertEqual(document["backend"]["name"], "cpu")
                at = next(i for i, event in enumerate(said) if event["event"] == "device_lost")
                before = [e["tokens_seen"] for e in said[:at] if e["event"] == "progress"]
                after = [e["tokens_seen"] for e in said[at:] if e["event"] == "progress"]
                if not before or not after:
                    continue
                lost_in_reading += 1
                self.assertLessEqual(before[-1] - after[0], interval)
                self.assertEqual(after[-1], document["tokens_seen"])
        self.assertGreaterEqual(lost_in_reading, 2)
        self.assert_sound()

    def test_the_cpu_goes_on_from_a_checkpoint_of_another_device(self):
        self.run_command(*self.read("cpu"))
        result = self.on_device(*self.read("lost"), fail_after=8000, target="sm_90")
        self.assertEqual(len(self.losses(result)), 1)
        notes = [e["text"] for e in events_of(result.stderr) if e["event"] == "note"]
        self.assertTrue(any("from a cache that was computed with sm_90" in note for note in notes), notes)
        self.assertFalse(any("are read again" in note for note in notes), notes)
        kept = [self.document("sessions", "show", name)["tokens"] for name in ("lost", "cpu")]
        self.assertEqual(kept[0], kept[1])
        self.assertEqual(json.loads(result.stdout)["backend"]["lost_device"], "cuda:0")

    def test_a_new_process_uses_the_device_again(self):
        first = self.on_device(*self.read("s"), fail_after=5000)
        self.assertEqual(len(self.losses(first)), 1)
        answer = self.on_device("ask", "--session", "s", "who?", "--max-tokens", "8", "--json")
        self.assertEqual(json.loads(answer.stdout)["backend"]["name"], "cuda:0")

    def test_an_answer_continues_after_its_last_token(self):
        chat = lambda name: ["chat", "--session", name, *SMALL, "--temperature", "0.7", "--seed", "3", "--max-tokens", "300",
                             "--events"]
        turns = b"one\ntwo\n"
        whole = self.on_device(*chat("whole"), stdin=turns)
        lost = 0
        for fail_after in (100, 1500, 4000, 7000, 10000):
            name = "lost %d" % fail_after
            result = self.on_device(*chat(name), fail_after=fail_after, stdin=turns)
            self.assertEqual(self.ids_said(name), self.ids_said("whole"))
            self.assertEqual(result.stdout, whole.stdout)
            self.assertEqual(self.state(name), self.state("whole"))
            lost += len(self.losses(result))
        self.assertGreaterEqual(lost, 3)

    def test_a_command_without_a_session_starts_again_on_the_cpu(self):
        command = ["summarize", self.book, *SMALL, "--max-tokens", "16", "--no-notes"]
        cpu = self.run_command(*command)
        result = self.on_device(*command, fail_after=2000)
        self.assertEqual(result.stdout, cpu.stdout)
        self.assertEqual(result.stderr.count(b"PAL-GPU-03"), 1)
        with open(self.book, "rb") as book:
            refused = self.on_device("summarize", "-", *SMALL, "--no-notes", fail_after=2000, stdin=book.read(), status=4)
        self.assertIn(b"[PAL-GPU-03]", refused.stderr)  # standard input cannot be read again

    def test_notes_are_the_same_after_the_device_is_lost(self):
        """What is read is stored in memory, so that the CPU can go on with it."""
        with open(self.book, "rb") as book:
            text = book.read()
        command = ["summarize", "-", *SMALL, "--max-tokens", "16", "--json"]
        cpu = json.loads(self.run_command(*command, stdin=text).stdout)
        for fail_after in (100, 2000, 6000):
            result = self.on_device(*command, fail_after=fail_after, stdin=text)
            self.assertEqual(result.stderr.count(b"PAL-GPU-03"), 1)
            lost = json.loads(result.stdout)
            self.assertEqual((lost["answers"], lost["outline"]), (cpu["answers"], cpu["outline"]))


class SmallDeviceTest(DeviceTest):
    def test_a_budget_that_does_not_fit_is_refused_with_one_that_does(self):
        short = self.file("short.txt", text(400, 8))

        def look(budget, free, status):
            return self.on_device("inspect", short, "--model", MODEL, "--chunk", "16", "--kv-type", "f32", "--json",
                                  "--budget", str(budget), free=free, status=status)

        def fits(free):
            try:
                look(200, free, 0)
                return True
            except AssertionError:
                return False

        error = lambda refused: json.loads(refused.stderr.splitlines()[-1])
        hopeless = error(look(200, 1000, 4))
        self.assertEqual((hopeless["code"], hopeless["file"]), ("PAL-MEM-02", "cuda:0"))
        self.assertEqual(hopeless["hint"], "choose a smaller model, or set --device to cpu")
        too_little, enough = 1000, 1 << 30
        while enough - too_little > 1000:
            middle = (enough + too_little) // 2
            too_little, enough = (too_little, middle) if fits(middle) else (middle, enough)
        free = enough - 20000
        refused = error(look(200, free, 4))
        self.assertEqual(refused["code"], "PAL-MEM-02")
        budget = int(refused["hint"].split("set --budget to ")[1].split()[0])
        self.assertLess(budget, 200)
        self.assertGreater(budget, 100)
        look(budget, free, 0)


if __name__ == "__main__":
    run("__main__")
