#!/usr/bin/env python3
"""Tests tests/gpu/run without a GPU: the programs that it finds, its table, and its exit codes."""
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(HERE, "run")
sys.path.insert(0, HERE)

import report
import toolchain


# Available on every machine with a compiler.
SYSTEM_HEADERS = {"dlfcn.h", "fcntl.h", "link.h", "math.h", "sched.h", "sys/mman.h", "sys/stat.h", "unistd.h"}


def load_run():
    loader = importlib.machinery.SourceFileLoader("gpu_run", RUN)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
    loader.exec_module(module)
    return module


def step(name, status="passed", why=""):
    return {"step": name, "status": status, "seconds": 1.0, "why": why}


def speed(policy, budget, prefill, decode):
    return {"bench": "speed", "policy": policy, "budget": budget, "prefill_tokens_per_second": prefill,
            "prefill_flops_per_token": 10e9, "decode_tokens_per_second": decode, "decode_bytes_per_token": 15e9,
            "launches_per_token": 163.0}


class ProgramsTest(unittest.TestCase):
    def test_every_test_that_follows_a_device_is_in_a_program(self):
        users = set()
        for folder, _, files in os.walk(os.path.join(ROOT, "tests")):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith("_test.cpp") and toolchain.follows_device(path):
                    users.add(path)
        found = toolchain.device_tests()
        self.assertLessEqual({"kernels-linear-test", "kernels-attention-test", "device-session-test"}, set(found))
        self.assertNotIn("device-plugin-test", found)
        self.assertGreater(len(users), 3)
        self.assertLessEqual(users, {source for own, _ in found.values() for source in own})

    def test_all_sources_are_there(self):
        for name, (own, _) in {**toolchain.device_tests(), **toolchain.BENCHES}.items():
            self.assertTrue(toolchain.sources(*own), name)
            for source in own:
                if "*" not in source:
                    self.assertTrue(os.path.exists(os.path.join(ROOT, source)), source)

    def test_the_plugin_has_what_its_list_names(self):
        found = toolchain.plugin_sources()
        self.assertLessEqual({"kernels/base/error.cpp", "kernels/base/dtype.cpp", "kernels/cuda/plugin.cpp"}, set(found))
        self.assertTrue(all(os.path.exists(os.path.join(ROOT, source)) for source in found))

    def test_the_engine_is_linked_where_a_test_asks_for_it(self):
        libraries = {name: library for name, (_, library) in toolchain.device_tests().items()}
        self.assertEqual(libraries["kernels-linear-test"], "kernels")
        self.assertEqual(libraries["device-session-test"], "engine")


    def test_engine_and_kernels_have_what_their_lists_name(self):
        for folder, patterns in (("engine", toolchain.ENGINE), ("kernels", toolchain.KERNELS)):
            named, made = set(), set()
            for words in toolchain.sources(folder + "/CMakeLists.txt", folder + "/*/CMakeLists.txt", "!kernels/cuda/*"):
                with open(os.path.join(ROOT, words)) as text:
                    found = text.read()
                named |= {os.path.join(os.path.dirname(words), source) for source in re.findall(r"(?<![\w/}])[\w/]+\.cpp", found)}
                made |= set(re.findall(r"SOURCES \$\{CMAKE_CURRENT_BINARY_DIR\}/(\w+\.cpp)", found))
            self.assertGreater(len(named), 20)
            self.assertLessEqual(named, set(toolchain.sources(*patterns)))
            self.assertEqual(made, set(toolchain.GENERATED) if folder == "engine" else set())


class CasesTest(unittest.TestCase):
    """Uses scripts in place of test programs, one of which lists no cases."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="palimpsest-test-")
        self.addCleanup(folder.cleanup)
        gpu_run = load_run()
        gpu_run.device_tests = lambda: dict.fromkeys(("lists-test", "silent-test"))
        self.failure = gpu_run.Failure
        self.run_ = gpu_run.Run(gpu_run.parse(["--out", folder.name]))
        self.addCleanup(self.run_.report.log.close)
        self.addCleanup(os.rmdir, self.run_.scratch)
        self.run_.tools.bin = folder.name
        self.script("lists-test", """case "$1" in
            --list*) echo "a case, named"; exit 1;;
            "a case\\\\, named") echo '<?xml version="1.0"?><testsuites><testcase/></testsuites>';;
            *) exit 3;; esac""")
        # Like Catch2 version 2: prints nothing if names are requested, otherwise two lines.
        self.script("silent-test", """case "$1" in --list-tests) echo "All available test cases:"; echo "0 test cases";; esac""")

    def script(self, name, body):
        path = os.path.join(self.run_.tools.bin, name)
        with open(path, "w") as text:
            text.write("#!/bin/sh\n" + body)
        os.chmod(path, 0o755)

    def ended(self, body):
        with self.assertRaises(self.failure) as raised:
            body(time.monotonic() + 60)
        return str(raised.exception)

    def test_a_program_without_cases_fails_alone(self):
        why = self.ended(self.run_.tests("cpu", 1))
        self.assertIn("1 passed, 1 failed", why)
        self.assertIn("silent-test lists no cases", why)
        found = {(c["program"], c["status"]) for c in self.run_.report.found["tests"]["cpu"]}
        self.assertEqual(found, {("lists-test", "passed"), ("silent-test", "FAILED")})

    def test_a_dry_run_names_every_program_without_cases(self):
        self.assertIn("silent-test lists no cases", self.ended(self.run_.list_cases))
        self.assertEqual(self.run_.report.found["cases"], {"lists-test": ["a case, named"], "silent-test": []})
        os.remove(os.path.join(self.run_.tools.bin, "silent-test"))
        self.assertEqual(self.run_.list_cases(time.monotonic() + 60), "1 programs list 1 cases")

    def test_what_was_built_before_is_all_there_or_named(self):
        self.run_.options.built = True
        for name in (*toolchain.BENCHES, toolchain.PLUGIN):
            self.script(name, "exit 0")
        self.assertEqual(self.run_.build(time.monotonic() + 60), "%d programs, built before" % (len(toolchain.BENCHES) + 3))
        os.remove(os.path.join(self.run_.tools.bin, "speed-bench"))
        self.assertIn(": speed-bench; build them with --only machine,build", self.ended(self.run_.build))

    def test_what_does_not_start_lists_nothing(self):
        self.script("lists-test", "echo 'error while loading shared libraries' >&2; exit 127")
        self.assertIn("lists-test lists no cases: exit 127", self.ended(self.run_.list_cases))


class CarryTest(unittest.TestCase):
    def test_what_the_sources_include_of_the_packages_is_carried(self):
        with tempfile.TemporaryDirectory(prefix="palimpsest-test-") as folder:
            carried = os.path.join(folder, "carry")
            done = subprocess.run([sys.executable, os.path.join(HERE, "carry"), carried], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            patterns = [*toolchain.KERNELS, *toolchain.ENGINE, "kernels/**/*.h", "engine/**/*.h"]
            for own, _ in {**toolchain.device_tests(), **toolchain.BENCHES}.values():
                patterns += own
            included = set()
            for source in toolchain.sources(*patterns):
                with open(os.path.join(ROOT, source)) as text:
                    included |= set(re.findall(r'#include [<"]([^>"]+[/.][^>"]+)[>"]', text.read()))
            self.assertIn("hwy/highway.h", included)
            ours_or_cuda = ("kernels/", "engine/", "tests/", "cu")
            self.assertEqual([name for name in sorted(included - SYSTEM_HEADERS) if not name.startswith(ours_or_cuda) and
                              not os.path.exists(os.path.join(carried, "include", name))], [])


class TableTest(unittest.TestCase):
    def setUp(self):
        ceilings = [{"ceiling": "copy", "value": 4e12, "unit": "GB/s"}, {"ceiling": "bf16 gemm", "value": 800e12}]
        kernels = [{"kernel": "prefill", "shape": "8b n 2048 b 512, signals all rows", "seconds": 1e-3, "of_base": 1.8,
                    "base": "8b n 2048 b 512, signals none"}]
        self.found = {"steps": [step("build"), step("tests on cuda", "skipped", "no device")],
                      "machine": {"gpu": None},
                      "bench": {"kernels": {"lines": ceilings + kernels}}}

    def engine(self, *lines):
        self.found["bench"]["engine 8b-bf16"] = {"lines": list(lines)}
        return report.table(self.found)

    def test_what_was_not_run_is_marked(self):
        text = report.table(self.found)
        self.assertRegex(text, r"tests on cuda +skipped .* no device")
        self.assertRegex(text, r"gpu +none")

    def test_the_least_fraction_is_held_against_the_bar(self):
        text = self.engine(speed("treekv", 2048, 40000, 240), speed("streaming", 8192, 48000, 200))
        self.assertIn("G1 8b-bf16 decode   least 0.75 of the floor (streaming, budget 8192), bar 0.80: MISSED", text)
        self.assertIn("G3 8b-bf16 prefill  least 0.50 of the floor (treekv, budget 2048), bar 0.55: MISSED", text)
        self.assertIn("statistics take 0.80 of the attention's time, bar 0.70: MISSED", text)
        self.assertIn("163 launches", text)
        self.assertIn("0.90 of the floor", text)

    def test_memory_that_grows_is_said(self):
        stream = {"bench": "stream", "policy": "treekv", "budget": 2048, "tokens_seen": 65544, "asked": 1000000,
                  "late_over_early": 0.99, "device_bytes_constant": False, "decode_tokens_per_second": 200.0,
                  "decode_bytes_per_token": 15e9}
        self.assertIn("65544 of 1000000 tokens: late / early 0.990, device memory NOT constant", self.engine(stream))
        self.assertIn("constant to the byte", self.engine({**stream, "device_bytes_constant": True}))

    def test_what_there_was_no_time_for_is_said(self):
        text = self.engine({"bench": "depth", "policy": "full", "budget": 0, "left_out": "no time left"})
        self.assertRegex(text, r"depth +full +budget +0 +no time left")


class RunTest(unittest.TestCase):
    def run_script(self, *words):
        with tempfile.TemporaryDirectory(prefix="palimpsest-test-") as out:
            environment = {**os.environ, "PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""}
            done = subprocess.run([sys.executable, RUN, "--out", out, *words], capture_output=True, text=True,
                                  env=environment)
            with open(os.path.join(out, "gpu.json")) as text:
                return done, json.load(text)

    def test_what_is_missing_is_one_sentence_and_the_rest_is_marked(self):
        done, found = self.run_script("--carry", "/nonexistent", "--only", "machine,tests on cuda,kernels bench")
        steps = {s["step"]: (s["status"], s["why"]) for s in found["steps"]}
        self.assertEqual(steps["machine"][0], "FAILED")
        self.assertIn("no folder /nonexistent; run tests/gpu/carry", steps["machine"][1])
        self.assertEqual([steps[name][0] for name in ("tests on cuda", "kernels bench")], ["skipped", "skipped"])
        self.assertEqual((done.returncode, found["exit"]), (1, 1))

    def test_without_a_device_the_end_is_77_and_says_so(self):
        done, found = self.run_script("--only", "tests on cuda,engine 8b")
        self.assertEqual((done.returncode, found["exit"]), (77, 77))
        self.assertTrue(all(s["status"] == "skipped" and s["why"] == "no device" for s in found["steps"]))
        self.assertIn("no device: only what needs none was run, and that is well", done.stdout)

    def test_told_to_end_it_leaves_at_once_with_what_it_found(self):
        with tempfile.TemporaryDirectory(prefix="palimpsest-test-") as folder:
            compiler = os.path.join(folder, "g++")
            with open(compiler, "w") as text:
                text.write("#!/bin/sh\necho $$ >> %s/asked; exec sleep 600\n" % folder)
            os.chmod(compiler, 0o755)
            # Compiling device code fails at once, because the architecture does not exist.
            words = [sys.executable, RUN, "--out", folder, "--jobs", "2", "--only", "build", "--arch", "none"]
            process = subprocess.Popen(words, env={**os.environ, "CXX": compiler}, stdout=subprocess.DEVNULL)
            while not os.path.exists(os.path.join(folder, "asked")):
                time.sleep(0.05)
                self.assertIsNone(process.poll())
            process.terminate()
            self.assertEqual(process.wait(60), 1)
            with open(os.path.join(folder, "gpu.json")) as text:
                self.assertEqual(json.load(text)["steps"][-1]["why"], "told to end")
            with open(os.path.join(folder, "asked")) as text:
                left = [number for number in text.read().split() if os.path.exists("/proc/%s/cwd" % number)]
            self.assertEqual(left, [])

    def test_batches_give_every_tool_its_quick_cases_first(self):
        run = load_run()
        cases = [{"program": "p", "case": str(i), "seconds": 20 - i} for i in range(10)]
        found = list(run.batches(cases, size=4))
        self.assertEqual([tool for tool, _, _ in found[:4]], list(run.SANITIZERS))
        self.assertEqual(found[0][2], ["9", "8", "7", "6"])
        self.assertEqual(sorted(int(n) for tool, _, names in found if tool == "memcheck" for n in names), list(range(10)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
