#!/usr/bin/env python3
"""The file of the GPU plugin, and how the command reports it. Usage: gpu_plugin_test.py PALIMPSEST MODEL_FIXTURES
TEST_PLUGINS [PLUGIN]; without PLUGIN, the tests of the built plugin are skipped."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from own_environment import own_environment
from patience import PATIENCE

PROGRAM, FIXTURES, TEST_PLUGINS = sys.argv[1:4]
PLUGIN = sys.argv[4] if len(sys.argv) > 4 else None
MODEL = os.path.join(FIXTURES, "llama.f32.gguf")
# The C++ runtime and the C library, under the names that different versions use. No CUDA, no driver.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1",
           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def needed(file):
    listing = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", listing))


class GpuPluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="palimpsest-test-")
        cls.empty = os.path.join(cls.folder, "empty")
        os.mkdir(cls.empty)
        cls.book = os.path.join(cls.folder, "book.txt")
        with open(cls.book, "w") as book:
            book.write("the keeper of the light wrote in his book that the sea was calm\n" * 20)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_command(self, *arguments, plugins, **variables):
        environment = {**own_environment(self.folder), "PALIMPSEST_PLUGINS": plugins, **variables}
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE, env=environment)

    def inspect(self, device, plugins):
        return self.run_command("inspect", self.book, "--model", MODEL, "--budget", "64", "--chunk", "16", "--json",
                                "--device", device, plugins=plugins)

    def doctor(self, plugins, **variables):
        result = self.run_command("doctor", "--json", plugins=plugins, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["cuda"]

    def check_refused(self, status, code, sentence, device, plugins):
        result = self.inspect(device, plugins)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        error = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual((error["code"], error["file"]), (code, f"device '{device}'"))
        self.assertIn(sentence, f"{error['text']}; {error['hint']}")

    def check_auto_is_cpu(self, plugins):
        automatic, cpu = self.inspect("auto", plugins), self.inspect("cpu", plugins)
        self.assertEqual(automatic.returncode, 0, automatic.stderr)
        self.assertEqual(json.loads(automatic.stdout)["heads"], json.loads(cpu.stdout)["heads"])
        self.assertNotIn("plugin", automatic.stderr)
        self.assertNotIn("PAL-GPU", automatic.stderr)

    # -- missing and foreign plugins -----------------------------------------------------------------------------

    def test_plugins_that_cannot_be_used_are_refused_in_one_sentence(self):
        damaged = os.path.join(self.folder, "damaged")
        os.mkdir(damaged)
        with open(os.path.join(damaged, "libpalimpsest-cuda.so"), "w") as file:
            file.write("\x7fELF and nothing more")
        for plugins, sentence in [(self.empty, f"there is no libpalimpsest-cuda.so in {self.empty}"),
                                  (damaged, "is damaged or made for another system"),
                                  (os.path.join(TEST_PLUGINS, "other_version"), "belongs to another version"),
                                  (os.path.join(TEST_PLUGINS, "other_layout"), "belongs to another version")]:
            with self.subTest(plugins=plugins):
                self.check_refused(3, "PAL-GPU-01", sentence, "cuda", plugins)
                self.check_auto_is_cpu(plugins)
                found = self.doctor(plugins)
                self.assertFalse(found["used"])
                self.assertIn(sentence, found["problem"])
                self.assertIn("to cpu", found["remedy"])
                self.assertEqual(found["devices"], [])
                self.assertEqual(found["plugin"] is None, plugins == self.empty)

    def test_unknown_devices_are_refused(self):
        for device in ("cuda:", "cuda:x", "cuda:-1", "gpu"):
            self.check_refused(2, "PAL-OPTION-10", "there is no such device", device, self.empty)

    # -- a plugin that works -------------------------------------------------------------------------------------

    def test_a_plugin_that_works_is_used_and_described(self):
        plugins = os.path.join(TEST_PLUGINS, "cpu")
        for device in ("auto", "cuda", "cuda:0"):
            result = self.inspect(device, plugins)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.check_refused(4, "PAL-GPU-02", "its memory is full", "cuda:1", plugins)
        found = self.doctor(plugins)
        self.assertTrue(found["used"])
        self.assertEqual((found["driver"], found["driver_cuda"], found["runtime_cuda"]), ("123.45", "13.2", "13.0"))
        self.assertEqual((found["cublaslt"], found["cublaslt_problem"]), (None, "not looked for"))
        self.assertEqual(found["devices"][0],
                         {"device": "cuda:0", "name": "A card", "compute_capability": "12.0", "multiprocessors": 7,
                          "memory_bytes": 2000000000, "free_bytes": 1500000000, "problem": None})
        self.assertEqual(found["devices"][1]["problem"], "its compute capability is 6.1 and 7.5 is needed")
        text = self.run_command("doctor", plugins=plugins).stdout
        line = next(line for line in text.splitlines() if "cuda backend" in line)
        for part in ("cuda:0 A card", "compute capability 12.0", "1.5 GB free of 2.0 GB", "cuda:1 Another",
                     "not used: its compute capability is 6.1", "driver 123.45 for CUDA 13.2, runtime 13.0", "no cuBLASLt (not looked for)",
                     "plugin " + plugins):
            self.assertIn(part, line)

    # -- the matrix library ---------------------------------------------------------------------------------------

    @unittest.skipIf(PLUGIN is None, "this build has no CUDA plugin")
    def test_doctor_says_which_matrix_library_is_used_and_why_not_another(self):
        plugins, libraries = os.path.dirname(PLUGIN), os.path.join(os.path.dirname(TEST_PLUGINS), "matrix_libraries")
        working, lacking = (os.path.join(libraries, name) for name in ("working", "lacking"))
        found = self.doctor(plugins, LD_LIBRARY_PATH=lacking)
        sentence = lacking + "/libcublasLt.so.13 is not used: it lacks cublasLtMatmul"
        self.assertNotEqual(found["cublaslt"], lacking + "/libcublasLt.so.13")
        self.assertIn(sentence, found["cublaslt_problem"])
        self.assertIn(sentence, self.run_command("doctor", plugins=plugins, LD_LIBRARY_PATH=lacking).stdout)
        if not found["used"]:  # with a GPU, a library needs more than the functions
            found = self.doctor(plugins, LD_LIBRARY_PATH=working)
            self.assertEqual((found["cublaslt"], found["cublaslt_problem"]), (working + "/libcublasLt.so.13", None))

    # -- the plugin of this build --------------------------------------------------------------------------------

    def test_the_command_links_no_cuda(self):
        self.assertEqual([name for name in needed(PROGRAM) if "cu" in name and name != "libicuuc.so"], [])

    @unittest.skipIf(PLUGIN is None, "this build has no CUDA plugin")
    def test_the_plugin_needs_only_what_every_system_has(self):
        self.assertEqual(needed(PLUGIN) - ALLOWED, set())

    @unittest.skipIf(PLUGIN is None, "this build has no CUDA plugin")
    def test_the_plugin_exports_two_functions(self):
        listing = subprocess.run(["nm", "--dynamic", "--defined-only", PLUGIN], capture_output=True, text=True, check=True)
        shown = {line.split()[-1] for line in listing.stdout.splitlines()}
        self.assertEqual(shown, {"palimpsest_cuda_open_1", "palimpsest_cuda_survey_1"})

    @unittest.skipIf(PLUGIN is None, "this build has no CUDA plugin")
    def test_the_plugin_loads_and_reports_what_it_found(self):
        plugins = os.path.dirname(PLUGIN)
        found = self.doctor(plugins)
        self.assertEqual(found["plugin"], PLUGIN)
        self.assertRegex(found["runtime_cuda"], r"^\d+\.\d+$")
        if found["cublaslt"] is None:
            self.assertIn("the program's own matrix products are used", found["cublaslt_problem"])
        if found["driver_cuda"] is None:
            self.assertEqual(found["problem"], "no NVIDIA driver is installed")
        if found["used"]:
            self.assertGreater(found["devices"][0]["memory_bytes"], 0)
            self.check_refused(3, "PAL-GPU-01", "there is no such graphics card", "cuda:999", plugins)
        else:
            self.assertTrue(found["remedy"])
            self.check_refused(3, "PAL-GPU-01", found["problem"], "cuda", plugins)
            self.check_auto_is_cpu(plugins)
            text = self.run_command("doctor", plugins=plugins).stdout
            self.assertIn("ok    cuda backend: not used: " + found["problem"], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
