#!/usr/bin/env python3
"""The command as a process: byte-clean output in a pipe, JSON that parses, documented exit codes, one-line errors,
interruption. Usage: command_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from own_environment import own_environment
from patience import PATIENCE, wait_until

PROGRAM, FIXTURES = sys.argv[1], sys.argv[2]
MODEL = os.path.join(FIXTURES, "llama.f32.gguf")
WORDS = "the keeper of the light wrote in his book that the sea was calm and the wind came from the west\n"
SMALL = ["--model", MODEL, "--budget", "64", "--chunk", "16"]


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="palimpsest-test-")
        cls.book = cls.file("book.txt", WORDS * 30)
        cls.environment = own_environment(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def file(cls, name, content):
        path = os.path.join(cls.folder, name)
        with open(path, "wb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        return path

    def run_command(self, *arguments, stdin=b"", **environment):
        result = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=PATIENCE,
                                env={**self.environment, **environment})
        self.assertIn(result.returncode, (0, 1, 2, 3, 4), result.stderr)
        return result

    def succeeds(self, *arguments, **more):
        result = self.run_command(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        text = result.stdout.decode()  # UTF-8
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\r", text)
        return result

    def fails(self, status, code, *arguments, **more):
        result = self.run_command(*arguments, **more)
        errors = [line for line in result.stderr.decode().splitlines() if line.startswith("palimpsest: ")]
        self.assertEqual(result.returncode, status, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        self.assertEqual(len(errors), 1, result.stderr.decode())
        self.assertRegex(errors[0], r"\[%s\]$" % re.escape(code))
        return errors[0]

    # -- every subcommand in a pipe ------------------------------------------------------------------------------

    def test_every_subcommand_gives_clean_output_and_json(self):
        diary = self.file("diary.txt", "".join("We saw on day %s a %d. " % (chr(97 + i), 10 + i) for i in range(11)))
        questions = self.file("questions.jsonl", json.dumps({"context": "the keeper wrote", "input": "who wrote?", "answers": ["keeper"]}) + "\n")
        commands = {
            ("summarize", self.book, *SMALL, "--max-tokens", "8"): "palimpsest.answer/1",
            ("ask", self.book, "who wrote?", "where?", *SMALL, "--max-tokens", "8"): "palimpsest.answer/1",
            ("inspect", self.book, *SMALL): "palimpsest.retention/1",
            ("compare", self.book, "--policies", "treekv,streaming:sinks=2,lacache:span=1", *SMALL): "palimpsest.comparison/1",
            ("eval", "ppl", self.book, *SMALL, "--lengths", "64,128"): "palimpsest.perplexity/1",
            ("eval", "needle", self.book, *SMALL, "--lengths", "300", "--depths", "50"): "palimpsest.needle/1",
            ("eval", "recall", diary, *SMALL, "--questions", "5"): "palimpsest.recall/1",
            ("eval", "attention-recall", self.book, *SMALL, "--first", "200"): "palimpsest.attention-recall/1",
            ("eval", "spectrum", self.book, "--model", MODEL, "--length", "96"): "palimpsest.spectrum/1",
            ("eval", "tasks", questions, *SMALL, "--max-tokens", "8"): "palimpsest.tasks/1",
            ("tokenize", self.book, "--model", MODEL): "palimpsest.tokens/1",
            ("tokenize", self.book, "--model", MODEL, "--pieces"): "palimpsest.tokens/1",
            ("models", "show", MODEL): "palimpsest.model/1",
            ("models", "verify", MODEL): "palimpsest.model-check/1",
            ("models", "list"): "palimpsest.models/1",
            ("policies", "list"): "palimpsest.policies/1",
            ("policies", "show", "treekv"): "palimpsest.policy/1",
            ("doctor",): "palimpsest.doctor/1",
        }
        for command, schema in commands.items():
            with self.subTest(command=command):
                plain = self.succeeds(*command)
                self.assertTrue(plain.stdout.endswith(b"\n"))
                document = json.loads(self.succeeds(*command, "--json").stdout)
                if schema:
                    self.assertEqual(document["schema"], schema)
        self.assertRegex(self.succeeds("--version").stdout.decode(), r"^palimpsest \d+\.\d+\.\d+ \(.*SIMD \w+\)\n$")
        self.assertIn(b"Examples", self.succeeds("--help").stdout)
        self.assertIn(b"Examples", self.succeeds().stdout)
        self.assertIn(b"PALIMPSEST_BUDGET", self.succeeds("summarize", "--help").stdout)

    def test_coverage_counts_the_document(self):
        ids = self.succeeds("tokenize", self.book, "--model", MODEL).stdout.split()
        count = int(self.succeeds("tokenize", self.book, "--model", MODEL, "--count").stdout)
        self.assertEqual(len(ids), count)
        answer = json.loads(self.succeeds("summarize", self.book, *SMALL, "--max-tokens", "4", "--json").stdout)
        self.assertEqual(answer["coverage"]["tokens_in_input"], count)
        self.assertEqual(answer["coverage"]["tokens_read"], count)

    def test_standard_input_is_the_same_as_the_file(self):
        with open(self.book, "rb") as book:
            text = book.read()
        a = json.loads(self.succeeds("inspect", self.book, *SMALL, "--json").stdout)
        b = json.loads(self.succeeds("inspect", "-", *SMALL, "--json", stdin=text).stdout)
        self.assertEqual(a["heads"], b["heads"])

    def test_a_named_pipe_is_read_once(self):
        with open(self.book, "rb") as book:
            text = book.read()
        pipe = os.path.join(self.folder, "pipe.txt")
        os.mkfifo(pipe)
        for command in (["inspect", pipe, *SMALL], ["summarize", pipe, *SMALL, "--max-tokens", "4"],
                        ["compare", pipe, "--policies", "treekv", *SMALL]):
            process = subprocess.Popen([PROGRAM, *command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=self.environment)
            with open(pipe, "wb") as file:
                file.write(text)
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, err)
            coverage = json.loads(out)["coverage"]
            self.assertEqual(coverage["tokens_read"], coverage["tokens_in_input"])

    def test_each_document_has_a_summary(self):
        other = self.file("other.txt", WORDS * 3)
        both = [self.book, other, *SMALL, "--max-tokens", "4", "--json"]
        each = json.loads(self.succeeds("summarize", *both, "--each").stdout)
        self.assertEqual([a["documents"] for a in each], [[self.book], [other]])
        alone = json.loads(self.succeeds("summarize", other, *SMALL, "--max-tokens", "4", "--json").stdout)
        self.assertEqual(each[1]["answers"], alone["answers"])
        together = json.loads(self.succeeds("summarize", *both).stdout)
        # Only the first word of the first document gets a leading space, so the second one may have other tokens here.
        self.assertAlmostEqual(together["coverage"]["tokens_read"],
                               sum(a["coverage"]["tokens_read"] for a in each), delta=2)

    def test_a_failed_command_keeps_the_previous_file(self):
        target = self.file("kept.csv", "before")
        self.fails(3, "PAL-DOC-00", "inspect", os.path.join(self.folder, "missing.txt"), *SMALL, "--map", target)
        with open(target) as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("kept.csv")], ["kept.csv"])
        self.succeeds("inspect", self.book, *SMALL, "--map", target)
        with open(target) as file:
            self.assertTrue(file.read().startswith("layer,head,token\n"))

    def test_the_kept_sets_are_within_the_budget_and_equal_the_csv_map(self):
        target = os.path.join(self.folder, "map.csv")
        document = json.loads(self.succeeds("inspect", self.book, *SMALL, "--json", "--map", target).stdout)
        rows = []
        for head in document["heads"]:
            self.assertLessEqual(len(head["tokens"]), 64)
            self.assertEqual(head["tokens"], sorted(set(head["tokens"])))
            self.assertLess(head["tokens"][-1], document["tokens_seen"])
            rows += ["%d,%d,%d" % (head["layer"], head["head"], token) for token in head["tokens"]]
        with open(target) as csv:
            self.assertEqual(csv.read().split("\n"), ["layer,head,token", *rows, ""])
        mapped = os.path.join(self.folder, "map.json")
        self.succeeds("inspect", self.book, *SMALL, "--map", mapped, "--layer", "1", "--head", "0")
        with open(mapped) as file:
            self.assertEqual([(h["layer"], h["head"]) for h in json.load(file)["heads"]], [(1, 0)])

    def test_a_build_with_the_window_draws_the_map(self):
        svg, png = os.path.join(self.folder, "map.svg"), os.path.join(self.folder, "map.png")
        drawn = self.run_command("inspect", self.book, *SMALL, "--map", svg)
        if b"which this build does not have" in drawn.stderr:
            self.fails(2, "PAL-OPTION-05", "inspect", self.book, *SMALL, "--map", png)
            self.skipTest("built without the window")
        self.assertEqual(drawn.returncode, 0, drawn.stderr.decode())
        self.succeeds("inspect", self.book, *SMALL, "--map", png, "--layer", "1", DISPLAY="", QT_QPA_PLATFORM="")
        with open(svg, encoding="utf-8") as file:
            picture = file.read()
        self.assertIn("<svg", picture)
        for text in ("layer", "share kept", os.path.basename(self.book)):
            self.assertIn(text, picture)
        with open(png, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_token_ids_can_replace_a_document(self):
        ids = self.file("ids.txt", " ".join(str(i % 300 + 3) for i in range(200)))
        document = json.loads(self.succeeds("inspect", "--token-ids", ids, *SMALL, "--json").stdout)
        self.assertEqual(document["tokens_seen"], 200)
        csv = os.path.join(self.folder, "loss.csv")
        result = json.loads(self.succeeds("eval", "ppl", "--token-ids", ids, *SMALL, "--per-token", csv, "--json").stdout)
        with open(csv) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "index,token_id,nll")
        self.assertEqual(lines[1], "0,3,")
        losses = [float(line.split(",")[2]) for line in lines[2:]]
        self.assertEqual(len(losses), 199)
        self.assertAlmostEqual(sum(losses) / 199, result["results"][0]["mean_loss"], places=6)
        lengths = json.loads(self.succeeds("eval", "ppl", "--token-ids", ids, *SMALL, "--lengths", "50,1k", "--json").stdout)
        by_length = lengths["results"][0]["by_length"]
        self.assertEqual([entry["length"] for entry in by_length], [50, 1024])
        self.assertAlmostEqual(by_length[0]["mean_loss"], sum(losses[:49]) / 49, places=6)
        self.assertIsNone(by_length[1]["perplexity"])

    def test_a_budget_may_be_memory_or_a_share(self):
        # 2 layers x 2 KV heads x 8 numbers x keys and values x 2 bytes: 128 bytes per token
        memory = json.loads(self.succeeds("inspect", self.book, "--model", MODEL, "--chunk", "16", "--budget", "10kB", "--json").stdout)
        self.assertEqual(memory["policy"]["budget"], 10000 // 128 - 16)
        count = int(self.succeeds("tokenize", self.book, "--model", MODEL, "--count").stdout)
        share = json.loads(self.succeeds("inspect", self.book, "--model", MODEL, "--chunk", "16", "--budget", "5%", "--json").stdout)
        self.assertEqual(share["policy"]["budget"], count * 5 // 100)

    def test_options_come_from_the_environment_and_the_configuration(self):
        self.file("palimpsest-config-probe", "")
        os.makedirs(os.path.join(self.folder, "palimpsest"), exist_ok=True)
        config = self.file("palimpsest/config.json", '{"budget": 40, /* a comment */ "policy": "streaming"}')
        try:
            read = lambda *more, **env: json.loads(self.succeeds(
                "inspect", self.book, "--model", MODEL, "--chunk", "16", *more, "--json", **env).stdout)["policy"]
            self.assertEqual((read()["budget"], read()["name"]), (40, "streaming"))
            self.assertEqual(read(PALIMPSEST_BUDGET="50")["budget"], 50)
            self.assertEqual(read("--budget", "60", PALIMPSEST_BUDGET="50")["budget"], 60)
            doctor = self.succeeds("doctor", PALIMPSEST_CHUNK="32").stdout.decode()
            self.assertRegex(doctor, r"chunk +32 +\(environment \(PALIMPSEST_CHUNK\)\)")
            self.assertRegex(doctor, r"policy +streaming +\(config.json\)")
            self.file("palimpsest/config.json", '{"chunk": "abc"}')
            self.assertIn("'chunk'", self.fails(2, "PAL-OPTION-04", "inspect", self.book, "--model", MODEL))
            self.file("palimpsest/config.json", '{"max-tokens": -1}')
            self.fails(2, "PAL-OPTION-04", "summarize", self.book, *SMALL)
        finally:
            os.remove(config)

    def test_events_are_json_lines(self):
        result = self.succeeds("summarize", self.book, *SMALL, "--max-tokens", "4", "--events")
        events = [json.loads(line) for line in result.stderr.decode().splitlines()]  # only JSON lines
        self.assertEqual({e["event"] for e in events}, {"note", "progress", "section_note", "answer", "receipt"})
        plain = self.succeeds("summarize", self.book, *SMALL, "--max-tokens", "4", "--events", "--no-notes")
        self.assertEqual({json.loads(line)["event"] for line in plain.stderr.splitlines()},
                         {"note", "progress", "token", "answer", "receipt"})
        self.assertEqual(events[-1]["coverage"]["tokens_read"], events[-1]["coverage"]["tokens_in_input"])
        progress = [e for e in events if e["event"] == "progress"]
        self.assertEqual([e["tokens_seen"] for e in progress], sorted(e["tokens_seen"] for e in progress))
        self.assertTrue(all(e["slots_used"] <= e["slots_capacity"] for e in progress))
        for command in (["inspect", self.book, *SMALL], ["compare", self.book, "--policies", "treekv,streaming", *SMALL],
                        ["eval", "ppl", self.book, *SMALL]):
            for line in self.succeeds(*command, "--events").stderr.decode().splitlines():
                self.assertIn("event", json.loads(line))
        failed = self.run_command("inspect", self.file("empty.txt", ""), *SMALL, "--events").stderr
        self.assertEqual([(e["event"], e["code"]) for e in map(json.loads, failed.splitlines())],
                         [("error", "PAL-DOC-03")])

    # -- models of this machine ----------------------------------------------------------------------------------

    def machine(self):
        """Makes a home with the same model in four places. Returns their paths, and the variables that point there."""
        home = tempfile.mkdtemp(prefix="home-", dir=self.folder)
        digest = "ab" * 32
        places = {"own": "data/palimpsest/models/tiny.gguf", "lm": ".lmstudio/models/maker/repo/other-Q8_0.gguf",
                  "blob": ".ollama/models/blobs/sha256-" + digest,
                  "hub": ".cache/huggingface/hub/models--maker--hub/snapshots/abc/third.gguf"}
        for place in places.values():
            os.makedirs(os.path.dirname(os.path.join(home, place)))
            shutil.copy(MODEL, os.path.join(home, place))
        manifest = os.path.join(home, ".ollama/models/manifests/registry.ollama.ai/library/llama3.2/1b")
        os.makedirs(os.path.dirname(manifest))
        with open(manifest, "w") as out:
            json.dump({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + digest}]}, out)
        shutil.copy(manifest, os.path.join(os.path.dirname(manifest), "3b"))
        with open(os.path.join(os.path.dirname(manifest), "broken"), "w") as out:
            out.write("{")
        environment = {"HOME": home, "XDG_DATA_HOME": home + "/data", "XDG_CONFIG_HOME": home + "/config",
                       "OLLAMA_MODELS": home + "/.ollama/models"}
        return {name: os.path.join(home, place) for name, place in places.items()}, environment

    def test_models_are_found_by_name(self):
        places, home = self.machine()
        listed = json.loads(self.succeeds("models", "list", "--json", **home).stdout)
        found = {m["name"]: m for m in listed["models"]}
        expected = {"palimpsest-small": "shipped", "tiny": "models folder", "maker/repo/other-Q8_0": "LM Studio",
                    "llama3.2:1b": "Ollama", "maker/hub/third": "Hugging Face"}
        self.assertEqual({name: found[name]["source"] for name in expected}, expected)
        self.assertTrue(any("llama3.2/broken is left out: " in note for note in listed["notes"]), listed["notes"])
        self.assertEqual([name for name, m in found.items() if m["default"]], ["tiny"])
        self.assertEqual((found["tiny"]["architecture"], found["tiny"]["bytes"]), ("llama", os.path.getsize(MODEL)))
        self.assertRegex(self.succeeds("models", "list", **home).stdout.decode(), r"(?m)^\* tiny +models folder ")
        for name, place in (("tiny", "own"), ("other", "lm"), ("MAKER/repo/other-q8_0", "lm"), ("llama3.2:1b", "blob"),
                            ("third", "hub")):
            shown = json.loads(self.succeeds("models", "show", name, "--json", **home).stdout)
            self.assertEqual(shown["path"], places[place])
            self.assertGreater(shown["memory"]["largest_budget"], 0)
        self.assertIn("did you mean 'third'?", self.fails(3, "PAL-MODEL-00", "models", "show", "thirt", **home))
        self.assertIn("maker/hub/third (Hugging Face)", self.fails(2, "PAL-MODEL-20", "models", "verify", "maker/", **home))
        count = self.succeeds("tokenize", self.book, "--count", **home)  # uses the default of the models folder
        self.assertEqual(count.stdout, self.succeeds("tokenize", self.book, "--count", "--model", MODEL).stdout)
        self.assertEqual(count.stderr, b"")

    def test_the_default_model_is_set_and_reset(self):
        places, home = self.machine()
        config = os.path.join(home["XDG_CONFIG_HOME"], "palimpsest", "config.json")
        os.makedirs(os.path.dirname(config))
        before = '{ // mine\n  "budget": 64,\n  "chunk": 16 /* few */\n}\n'
        with open(config, "w") as out:
            out.write(before)
        used = lambda *more, **env: json.loads(self.succeeds(
            "inspect", self.book, "--chunk", "16", "--budget", "64", *more, "--json", **{**home, **env}).stdout)["model"]["file"]
        self.assertEqual(used(), "tiny")
        self.assertIn(b"default model: maker/repo/other-Q8_0 (", self.succeeds("models", "use", "other", **home).stdout)
        self.assertEqual(used(), "other-Q8_0")
        self.assertEqual(used("--model", "tiny"), "tiny")
        self.assertEqual(used(PALIMPSEST_MODEL="third"), "maker/hub/third")
        with open(config) as file:
            self.assertEqual(file.read(), before.replace(
                '"chunk": 16', '"chunk": 16,\n    "model": "maker/repo/other-Q8_0"'))
        with open(os.path.join(os.path.dirname(places["own"]), "bad.gguf"), "wb") as out:
            out.write(b"GGUF")
        self.fails(1, "PAL-MODEL-01", "models", "use", "bad", **home)  # the default that was set is kept
        self.fails(3, "PAL-MODEL-00", "models", "use", "nothing-like-it", **home)
        self.fails(2, "PAL-OPTION-01", "models", "use", **home)
        self.assertEqual(used(), "other-Q8_0")
        os.remove(places["lm"])
        self.assertIn("models use --none", self.fails(3, "PAL-MODEL-00", "inspect", self.book, **home))
        self.assertIn(b"none is set", self.succeeds("models", "use", "--none", **home).stdout)
        with open(config) as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(used(), "tiny")
        relative = os.path.relpath(places["hub"])
        self.assertEqual(json.loads(self.succeeds("models", "use", relative, "--json", **home).stdout)["set"], places["hub"])
        self.succeeds("models", "use", "default", **home)
        self.assertEqual(used(), "tiny")

    def test_a_default_set_by_name_is_not_a_file_of_the_current_folder(self):
        places, home = self.machine()
        self.succeeds("models", "use", "tiny", **home)
        here = os.path.join(self.folder, "here")
        os.makedirs(here)
        with open(os.path.join(here, "tiny"), "w") as out:
            out.write("no model")
        count = ["tokenize", self.book, "--count"]
        ran = subprocess.run([PROGRAM, *count], capture_output=True, cwd=here, env={**self.environment, **home}, timeout=PATIENCE)
        self.assertEqual((ran.returncode, ran.stdout), (0, self.succeeds(*count, "--model", MODEL).stdout), ran.stderr)
        named = subprocess.run([PROGRAM, *count, "--model", "tiny"], capture_output=True, cwd=here,
                               env={**self.environment, **home}, timeout=PATIENCE)
        self.assertEqual(named.returncode, 1)  # on the command line, 'tiny' names the file
        doctor = json.loads(self.succeeds("doctor", "--json", **home).stdout)
        self.assertIn({"option": "model", "value": "tiny", "origin": "config.json"}, doctor["options"])

    def test_models_that_cannot_run_are_reported_and_not_the_default(self):
        home = os.path.join(self.folder, "skipping")
        models = os.path.join(home, "palimpsest", "models")
        os.makedirs(models)
        environment = {"XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        with open(MODEL, "rb") as file:
            content = file.read()
        with open(os.path.join(models, "a.gguf"), "wb") as out:  # an unknown architecture
            out.write(content.replace(b"llama", b"llamb"))
        shutil.copy(MODEL, os.path.join(models, "b.gguf"))
        ran = self.succeeds("inspect", self.book, "--chunk", "16", "--budget", "64", "--json", **environment)
        self.assertEqual(json.loads(ran.stdout)["model"]["file"], "b")
        self.assertEqual(ran.stderr.count(b"a of the models folder is not the default: "), 1, ran.stderr)
        self.assertIn(b"'llamb'", ran.stderr)
        ran = self.succeeds("inspect", self.book, *SMALL, "--json", **environment)
        self.assertNotIn(b"is not the default", ran.stderr)  # --model was given
        os.remove(os.path.join(models, "b.gguf"))
        ran = self.succeeds("inspect", self.book, "--chunk", "16", "--budget", "64", "--json", **environment)
        self.assertEqual(json.loads(ran.stdout)["model"]["file"], "palimpsest-small")
        self.assertIn(b"a of the models folder is not the default: ", ran.stderr)
        self.assertIn(b"tiny built-in model", ran.stderr)

    def test_a_model_of_ollama_is_called_by_its_name(self):
        places, home = self.machine()
        answer = ["summarize", self.book, "--model", "llama3.2:1b", "--budget", "64", "--chunk", "16", "--max-tokens", "4",
                  "--session", "by ollama", "--json"]
        result = json.loads(self.succeeds(*answer, **home).stdout)
        self.assertEqual((result["model"]["name"], result["model"]["file"]), ("llama3.2:1b", "llama3.2:1b"))
        listed = json.loads(self.succeeds("sessions", "list", "--json", **home).stdout)
        self.assertEqual([s["model"] for s in listed["sessions"]], ["llama3.2:1b"])
        shown = self.succeeds("models", "show", "llama3.2:1b", **home).stdout.decode()
        self.assertRegex(shown, r"(?m)^name +llama3.2:1b$")
        with open(places["blob"], "r+b") as file:
            file.truncate(5000)
        for command in (["models", "show", "llama3.2:1b"], ["models", "verify", "llama3.2:1b"], answer):
            message = self.run_command(*command, **home).stderr.decode()
            self.assertIn("llama3.2:1b", message)
            self.assertNotIn("sha256", message)

    def test_products_are_computed_in_f32_on_demand(self):
        read = ["summarize", self.book, "--model", MODEL, "--budget", "64", "--chunk", "16", "--max-tokens", "4", "--json"]
        compute = lambda *more, **env: json.loads(self.succeeds(*read, *more, **env).stdout)["backend"]["compute"]
        usual = compute()
        self.assertIn(usual, ("auto", "f32"))  # a processor that cannot multiply in fixed point has "f32" alone
        self.assertEqual(compute("--compute", "f32"), "f32")
        self.assertEqual(compute(PALIMPSEST_COMPUTE="f32"), "f32")
        self.fails(2, "PAL-OPTION-01", *read[:-1], "--compute", "int3")
        database = ["--db", os.path.join(self.folder, "compute.db"), "--session", "exact"]
        self.assertEqual(compute("--compute", "f32", *database), "f32")
        ask = ["ask", "Who?", *database, "--max-tokens", "4", "--json"]
        going_on = json.loads(self.succeeds(*ask).stdout)  # uses the product type the session was created with
        self.assertEqual(going_on["backend"]["compute"], "f32")
        if usual == "auto":
            self.assertIn("--compute f32", self.fails(2, "PAL-SESSION-06", *ask[:-1], "--compute", "auto"))

    # -- errors: a code, one sentence, and nothing on standard output --------------------------------------------

    def test_wrong_command_lines_are_refused(self):
        self.assertIn("did you mean 'summarize'?", self.fails(2, "PAL-OPTION-01", "sumarize", self.book))
        self.assertIn("did you mean 'show'?", self.fails(2, "PAL-OPTION-01", "policies", "shwo", "treekv"))
        self.assertIn("see palimpsest models --help", self.fails(2, "PAL-OPTION-01", "models", "zzzzzzzz"))
        self.fails(2, "PAL-OPTION-01", "summarize", "-", "-", *SMALL)
        self.fails(2, "PAL-OPTION-03", "eval", "ppl", self.book, *SMALL, "--first", "100,200")
        self.fails(2, "PAL-OPTION-01", "summarize", self.book, "--no-such-option")
        self.fails(2, "PAL-OPTION-01", "summarize")
        self.fails(2, "PAL-OPTION-01", "completions")
        self.fails(2, "PAL-OPTION-01", "completions", "tcsh")
        self.fails(2, "PAL-OPTION-01", "ask", self.book)
        self.assertIn("did you mean 'treekv'?", self.fails(2, "PAL-POLICY-01", "inspect", self.book, *SMALL, "--policy", "trekv"))
        self.fails(2, "PAL-POLICY-01", "policies", "show", "nothing-like-it")
        self.fails(2, "PAL-POLICY-02", "inspect", self.book, *SMALL, "--policy", "treekv:sink=4")
        self.fails(2, "PAL-OPTION-03", "inspect", self.book, "--model", MODEL, "--budget", "lots")
        self.fails(2, "PAL-OPTION-03", "inspect", self.book, *SMALL, "--kv-type", "f64")
        for budget in ("64", "1MiB"):  # head dimension 8 is not a multiple of the q8 block
            refusal = self.fails(2, "PAL-OPTION-03", "inspect", self.book, "--model", MODEL, "--budget", budget, "--kv-type", "q8")
            self.assertIn("set --kv-type to f16", refusal)
        self.fails(2, "PAL-BUDGET-01", "inspect", self.book, "--model", MODEL, "--budget", "250", "--chunk", "16")
        self.fails(2, "PAL-OPTION-05", "inspect", self.book, *SMALL, "--map", "map.gif")
        self.fails(2, "PAL-OPTION-03", "inspect", self.book, *SMALL, "--layer", "7")
        self.fails(2, "PAL-OPTION-01", "compare", self.book)
        self.fails(2, "PAL-OPTION-01", "eval", "ppl")
        self.fails(2, "PAL-OPTION-03", "eval", "ppl", self.book, *SMALL, "--policies", ",")
        self.fails(2, "PAL-OPTION-01", "ask", self.book, "who?", *SMALL, "--stop", "")
        self.fails(2, "PAL-OPTION-01", "ask", self.book, "who?", *SMALL, "--max-tokens", "-1")
        self.fails(4, "PAL-BUDGET-03", "inspect", self.book, *SMALL, "--positions", "original")
        self.assertIn("of", self.fails(1, "PAL-DOC-04", "compare", self.book, "--policies", "full", "--chunk", "16",
                                       "--model", MODEL, "--require-complete"))

    def test_errors_are_in_the_language_of_the_environment(self):
        wrong = ("policies", "show", "trekv")
        english = "palimpsest: trekv: there is no such policy; did you mean 'treekv'? [PAL-POLICY-01]"
        german = "palimpsest: trekv: diese Policy gibt es nicht; meinten Sie „treekv“? [PAL-POLICY-01]"
        self.assertEqual(self.fails(2, "PAL-POLICY-01", *wrong, LC_ALL="de_DE.UTF-8"), german)
        self.assertEqual(self.fails(2, "PAL-POLICY-01", *wrong, LC_ALL="", LC_MESSAGES="", LANG="de"), german)
        self.assertEqual(self.fails(2, "PAL-POLICY-01", *wrong, LC_ALL="C", LANG="de_DE.UTF-8"), english)
        error = json.loads(self.run_command(*wrong, "--json", LC_ALL="de_DE.UTF-8").stderr)  # for scripts
        self.assertEqual((error["text"], error["hint"]), ("there is no such policy", "did you mean 'treekv'?"))

    def test_help_and_output_are_in_the_language_of_the_environment(self):
        german = {"LC_ALL": "de_DE.UTF-8"}
        asking = self.succeeds("ask", "--help", **german).stdout.decode()
        self.assertRegex(asking, r"^ein Dokument lesen .*\nAufruf: ask \[OPTIONEN\]")
        self.assertRegex(asking, r"--budget TEXT .*\n? +behaltene Token je Schicht")
        self.assertNotRegex(asking, r"Usage|Options:|REQUIRED")
        self.assertIn("Beispiele:", self.succeeds(**german).stdout.decode())
        self.assertIn(b"Usage: ask [OPTIONS]", self.succeeds("ask", "--help").stdout)
        self.assertEqual(self.fails(2, "PAL-OPTION-01", "doctor", "--stear", **german),
                         "palimpsest: Kommandozeile: unerwartetes Argument: --stear; siehe palimpsest --help [PAL-OPTION-01]")
        for generated in (("manual",), ("completions", "zsh")):
            self.assertEqual(self.succeeds(*generated, **german).stdout, self.succeeds(*generated).stdout)
        read = self.succeeds("inspect", self.book, *SMALL, **german)
        self.assertIn("Schicht\n", read.stdout.decode())
        self.assertIn("\nAbdeckung:  ", read.stderr.decode())
        self.assertIn("Vorgabe", self.succeeds("doctor", **german).stdout.decode())
        for command in (("doctor",), ("models", "show", MODEL), ("policies", "show", "treekv")):  # for scripts
            first, second = (json.loads(self.succeeds(*command, "--json", LC_ALL=name).stdout) for name in ("C", "de"))
            self.assertEqual(list(first), list(second))
        self.assertEqual(first, second)

    def test_missing_and_unsuitable_inputs_are_refused(self):
        self.fails(3, "PAL-DOC-00", "summarize", os.path.join(self.folder, "missing.txt"), *SMALL)
        self.fails(3, "PAL-MODEL-00", "summarize", self.book, "--model", "no-such-model")
        self.fails(1, "PAL-DOC-01", "summarize", self.folder, *SMALL)
        self.fails(1, "PAL-DOC-02", "summarize", self.file("book.png", b"\x89PNG\r\n"), *SMALL)
        self.fails(1, "PAL-DOC-02", "summarize", self.file("hidden.txt", b"\x89PNG\r\n"), *SMALL)
        self.fails(1, "PAL-DOC-03", "summarize", self.file("empty.txt", ""), *SMALL)
        self.fails(1, "PAL-DOC-03", "inspect", "-", *SMALL)
        os.makedirs(self.folder + "/dir.json", exist_ok=True)
        self.fails(1, "PAL-DISK-03", "inspect", self.book, *SMALL, "--map", self.folder + "/dir.json")
        # Both errors are reported before the text is read, which would take hours.
        endless = self.file("endless.txt", WORDS * 200000)
        self.fails(1, "PAL-DISK-03", "inspect", endless, *SMALL, "--map", self.folder + "/no/such/folder.json")
        self.fails(3, "PAL-DOC-00", "summarize", endless, os.path.join(self.folder, "missing.txt"), *SMALL)
        self.assertIn("missing-\u00fc\u4e66.txt", self.fails(3, "PAL-DOC-00", "summarize", "missing-\u00fc\u4e66.txt", *SMALL))
        self.fails(1, "PAL-DOC-02", "summarize", self.file("picture.txt", b"\x89PNG\r\n\x1a\n"), *SMALL)
        self.fails(4, "PAL-BUDGET-02", "inspect", self.book, "--model", MODEL, "--chunk", "16", "--policy", "full")

    def test_a_truncated_model_is_refused(self):
        with open(MODEL, "rb") as file:
            whole = file.read()
        for size in (0, 10, 400, len(whole) // 2, len(whole) - 1):
            path = self.file("cut.gguf", whole[:size])
            result = self.run_command("models", "show", path)
            self.assertEqual(result.returncode, 1, size)
            self.assertRegex(result.stderr.decode(), r"^palimpsest: .*\[PAL-MODEL-\d\d\]\n$")
        error = json.loads(self.run_command("models", "verify", path, "--json").stderr)
        self.assertEqual(set(error), {"code", "text", "file", "offset", "rule", "hint"})

    def test_invalid_bytes_are_counted(self):
        path = self.file("broken.txt", b"\xef\xbb\xbf" + WORDS.encode() + b"\xff\xfe caf\xc3\xa9 \x00 end\r\n")
        document = json.loads(self.succeeds("inspect", path, *SMALL, "--json").stdout)
        self.assertEqual(document["coverage"]["invalid_sequences"], 2)
        self.assertEqual(document["coverage"]["nul_characters"], 1)
        unmarked = self.file("unmarked.txt", WORDS.encode() + b"\xff caf\xc3\xa9 d\xc3\xa9j\xc3\xa0 vu\n")
        coverage = json.loads(self.succeeds("inspect", unmarked, *SMALL, "--json").stdout)["coverage"]
        self.assertEqual(coverage["invalid_sequences"], 1)

    # -- pipes, terminals, signals --------------------------------------------------------------------------------

    def test_a_closed_pipe_is_not_reported(self):
        process = subprocess.Popen([PROGRAM, "tokenize", self.file("long.txt", WORDS * 5000), "--model", MODEL],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
        process.stdout.readline()
        process.stdout.close()
        with process.stderr:
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.wait(60), 0)

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            result = subprocess.run([PROGRAM, "tokenize", self.book, "--model", MODEL], stdout=full,
                                    stderr=subprocess.PIPE, env=self.environment)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"[PAL-DISK-01]", result.stderr)

    def test_control_characters_of_an_answer_are_visible_unless_raw(self):
        # At this temperature the model, whose weights are random, samples single bytes, also control characters.
        arguments = ["summarize", self.book, *SMALL, "--no-notes", "--temperature", "5", "--seed", "3", "--max-tokens", "200"]
        text = self.run_command(*arguments).stdout.decode()
        self.assertEqual([c for c in text if ord(c) < 32 and c not in "\n\t"], [])
        raw = self.run_command(*arguments, "--raw").stdout
        self.assertTrue(any(b < 32 and b not in b"\n\t" for b in raw))

    def interrupted(self, number):
        long_text = self.file("endless.txt", WORDS * 200000)
        process = subprocess.Popen([PROGRAM, "inspect", long_text, *SMALL, "--events"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        self.addCleanup(process.kill)
        self.assertIn(b"progress", process.stderr.readline())
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.status_of(process)["State"].split()[0] == "T")
        used = self.seconds_computed(process)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        before = self.seconds_of_ended()
        out, err = process.communicate(timeout=PATIENCE)  # closes both pipes
        # At most two super-chunks plus shutdown. Reading the whole text would take minutes.
        self.assertLess(self.seconds_of_ended() - before - used, 5)
        self.assertEqual(out, b"")
        last = json.loads(err.decode().splitlines()[-1])
        self.assertEqual(last["event"], "interrupted")
        self.assertTrue(last["text"].startswith("stopped after"), last)
        return process.returncode

    def status_of(self, process):
        with open("/proc/%d/status" % process.pid) as status:
            return dict(line.split(":", 1) for line in status)

    def seconds_computed(self, process):
        """Processor time of all threads of the process: independent of other load on the machine."""
        with open("/proc/%d/stat" % process.pid) as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def seconds_of_ended(self):
        times = resource.getrusage(resource.RUSAGE_CHILDREN)
        return times.ru_utime + times.ru_stime

    def takes_signals(self, process):
        """Whether the program has set up its signal handling: it handles SIGINT, or blocks it for a waiting thread."""
        masks = self.status_of(process)
        return any(int(masks[mask], 16) >> (signal.SIGINT - 1) & 1 for mask in ("SigBlk", "SigCgt"))

    def test_an_interrupt_ends_the_wait_for_standard_input(self):
        process = subprocess.Popen([PROGRAM, "summarize", "-", *SMALL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        wait_until(lambda: self.takes_signals(process))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 130)
        process.communicate()

    def test_sigint_and_sigterm_stop_the_command(self):
        self.assertEqual(self.interrupted(signal.SIGINT), 130)
        self.assertEqual(self.interrupted(signal.SIGTERM), 143)

    def test_a_terminal_gets_a_progress_line_and_a_pipe_does_not(self):
        child, terminal = pty.fork()
        if child == 0:
            os.environ.clear()
            os.environ.update(self.environment, TERM="xterm")
            os.execv(PROGRAM, [PROGRAM, "inspect", self.file("pty.txt", WORDS * 3000), *SMALL])
        shown = b""
        while True:
            ready, _, _ = select.select([terminal], [], [], 60)
            try:
                part = os.read(terminal, 65536) if ready else b""
            except OSError:
                break
            if not part:
                break
            shown += part
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)
        self.assertIn(b"\rReading", shown)
        self.assertIn("│".encode(), shown)
        piped = self.succeeds("inspect", self.book, *SMALL)
        self.assertNotIn(b"\r", piped.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
