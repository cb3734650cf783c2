"""eval attention-recall and eval spectrum: what they print, that they go on after they were stopped, and what they refuse.
Usage: attention_process_test.py PALIMPSEST MODEL_FIXTURES"""
import os
import signal

from patience import wait_until
from session_harness import FIXTURES, MODEL, ProgramTest, run, text

SHIPPED = os.path.join(FIXTURES, "..", "..", "..", "resources", "default-model", "palimpsest-small.gguf")
RECALL = ["--model", MODEL, "--chunk", "16", "--rows", "8", "--places", "4", "--first", "200"]
SPECTRUM = ["--model", MODEL, "--length", "96", "--pieces", "4"]


class AttentionTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(3000, 3))
        self.journal = os.path.join(self.folder, "journal.jsonl")

    def recall(self, *more):
        return self.document("eval", "attention-recall", self.book, *RECALL, *more)

    def lines(self):
        if not os.path.exists(self.journal):
            return []
        with open(self.journal, "rb") as file:
            return file.read().splitlines(keepends=True)

    def test_recall_is_told_by_layer_place_and_distance(self):
        other = self.file("other.txt", text(3000, 4))
        result = self.recall(other, "--policies", "full,treekv,streaming:sinks=2", "--budgets", "32,25%")
        self.assertEqual((result["schema"], result["rows"], result["chunk"]), ("palimpsest.attention-recall/1", 8, 16))
        read = result["documents"][0]["tokens"]  # with BOS
        self.assertEqual(result["documents"], [{"document": book, "tokens": read} for book in (self.book, other)])
        self.assertEqual([(r["policy"], r["budget"]) for r in result["results"]],
                         [("full", "none")] + [(p, b) for p in ("treekv", "streaming:sinks=2") for b in ("32", "25%")])
        model = result["model"]
        for measured in result["results"]:
            self.assertEqual([layer["layer"] for layer in measured["by_layer"]], list(range(model["layers"])))
            for layer in measured["by_layer"]:
                self.assertEqual(len(layer["heads"]), model["kv_heads"])
            places = measured["by_place"]
            self.assertEqual([(p["document"], p["tokens"]) for p in places],
                             [(book, n) for book in (self.book, other) for n in (48, 96, 144, read - 8)])
            evicted = [place for place in places if place["evicted"]]
            self.assertEqual([p["tokens"] for p in evicted], [p["tokens"] for p in places if p["budget"] and p["tokens"] > p["budget"]])
            self.assertEqual(measured["places"], len(evicted))
            self.assertFalse(any(layer["local"] for layer in measured["by_layer"]))
            if measured["policy"] == "full":
                for place in places:
                    self.assertIsNone(place["budget"])
                    self.assertAlmostEqual(place["held"], 1)
                self.assertEqual((measured["places"], measured["held"], measured["best"], measured["by_distance"]), (0, None, None, []))
                self.assertEqual(measured["by_layer"][0]["heads"], [None] * model["kv_heads"])
            else:
                for layer in measured["by_layer"]:
                    self.assertAlmostEqual(sum(layer["heads"]) / model["kv_heads"], layer["held"])
                for parts in (measured["by_layer"], evicted):
                    self.assertAlmostEqual(sum(part["held"] for part in parts) / len(parts), measured["held"])
                    self.assertAlmostEqual(sum(part["best"] for part in parts) / len(parts), measured["best"])
                self.assertAlmostEqual(sum(part["held"] for part in measured["by_distance"]), measured["held"])
                self.assertAlmostEqual(sum(part["attention"] for part in measured["by_distance"]), 1)
                self.assertEqual({p["budget"] for p in places}, {32 if measured["budget"] == "32" else 50})
                self.assertLess(measured["held"], measured["best"])
                self.assertLess(measured["best"], 1)

    def test_the_table_says_what_the_document_says(self):
        measured = self.recall("--budget", "64")["results"][0]
        shown = self.run_command("eval", "attention-recall", self.book, *RECALL, "--budget", "64").stdout.decode()
        self.assertEqual(measured["places"], 3)  # the first is after 48 tokens
        self.assertIn("means over 3 of 4 places", shown)
        rows = [line.split() for line in shown.splitlines()]
        self.assertIn(["all", "layers", "%.1f" % (100 * measured["held"]), "%", "%.1f" % (100 * measured["best"]), "%"], rows)
        for layer in measured["by_layer"]:
            self.assertIn(["layer", str(layer["layer"]), "%.1f" % (100 * layer["held"]), "%", "%.1f" % (100 * layer["best"]), "%"], rows)

    def test_what_evicts_nothing_holds_everything(self):
        for policy in ("quest", "twilight", "full"):
            measured = self.recall("--policies", policy, "--budgets", "32")["results"][0]
            self.assertEqual((measured["places"], measured["held"]), (0, None))
            for place in measured["by_place"]:
                self.assertAlmostEqual(place["held"], 1)
        shown = self.run_command("eval", "attention-recall", self.book, *RECALL, "--policies", "full").stdout.decode()
        self.assertIn(["all", "layers", "n/a", "n/a"], [line.split() for line in shown.splitlines()])
        self.assertIn("means over 0 of 4 places", shown)

    def test_every_policy_and_budget_is_checked_before_one_is_measured(self):
        said = self.run_command("eval", "attention-recall", self.book, *RECALL, "--policies", "treekv,snapkv", "--budgets", "64,2",
                                "--journal", self.journal, status=2).stderr.decode()
        self.assertIn("budget of 2", said)
        self.assertNotIn("Reading", said)
        self.assertFalse(os.path.exists(self.journal))

    def test_recall_goes_on_from_its_journal(self):
        arguments = ["eval", "attention-recall", self.book, *RECALL, "--policies", "treekv,streaming", "--budgets", "32,64", "--json"]
        whole = self.run_command(*arguments).stdout
        arguments += ["--journal", self.journal]
        self.assertEqual(self.run_command(*arguments).stdout, whole)
        lines = self.lines()
        self.assertEqual(len(lines), 1 + 4)
        for kept in (lines[:3], lines[:1] + lines[2:], lines[:3] + [lines[3][:40]]):
            with open(self.journal, "wb") as file:
                file.write(b"".join(kept))
            self.assertEqual(self.run_command(*arguments).stdout, whole)
            self.assertEqual(sorted(self.lines()), sorted(lines))
        arguments[arguments.index("--first") + 1] = "0200"
        self.assertEqual(self.run_command(*arguments).stdout, whole)  # the same number
        arguments[arguments.index("--places") + 1] = "3"
        said = self.run_command(*arguments, status=2).stderr.decode()
        self.assertIn("it holds the results of another measurement", said)

    def test_a_killed_or_stopped_measurement_goes_on(self):
        policies = ",".join("streaming:sinks=%d" % sinks for sinks in range(20))
        arguments = ["eval", "attention-recall", self.book, *RECALL, "--policies", policies, "--budgets", "32,48,64,80,96"]
        whole = self.run_command(*arguments, "--json").stdout
        arguments += ["--journal", self.journal]
        for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            process = self.start(*arguments)
            wait_until(lambda: len(self.lines()) > 2 or process.poll() is not None)
            process.send_signal(number)
            out, err = process.communicate()
            self.assertEqual((process.returncode, out), (status, b""))
            if number == signal.SIGINT:
                self.assertIn(b"the results so far are in", err)
            self.assertEqual(self.run_command(*arguments, "--json").stdout, whole)
            os.remove(self.journal)

    def test_the_spectrum_is_told_by_level_place_and_layer(self):
        result = self.document("eval", "spectrum", self.book, *SPECTRUM)
        self.assertEqual((result["schema"], result["wavelet"], result["length"], result["pieces"]), ("palimpsest.spectrum/1", "haar", 96, 4))
        self.assertEqual([(l["level"], l["block"], len(l["magnitudes"])) for l in result["by_level"]],
                         [(n, 2 ** n, 96 >> n) for n in range(1, 6)])
        self.assertEqual((result["approximation"]["block"], len(result["approximation"]["magnitudes"])), (32, 3))
        self.assertEqual([layer["layer"] for layer in result["by_layer"]], list(range(result["model"]["layers"])))
        for i, level in enumerate(result["by_level"]):
            middle = level["magnitudes"][32 // level["block"]:64 // level["block"]]  # without the first and last 32 tokens
            self.assertAlmostEqual(sum(middle) / len(middle), level["mean"])
            by_layer = [layer["means"][i] for layer in result["by_layer"]]
            self.assertAlmostEqual(sum(by_layer) / len(by_layer), level["mean"])
        rows = [line.split() for line in self.run_command("eval", "spectrum", self.book, *SPECTRUM).stdout.decode().splitlines()]
        self.assertIn(["32-63", *("%.3g" % level["mean"] for level in result["by_level"])], rows)

    def test_the_first_and_the_last_block_have_rows_of_their_own(self):
        arguments = ["eval", "spectrum", self.book, "--model", SHIPPED, "--length", "1k", "--pieces", "1"]
        magnitudes = self.document(*arguments)["by_level"][4]["magnitudes"]
        rows = [line.split() for line in self.run_command(*arguments).stdout.decode().splitlines()]
        shown = {row[0]: row[5] for row in rows if row and row[0][0].isdigit()}
        self.assertEqual(len(shown), 12)
        self.assertEqual((shown["0-31"], shown["992-1,023"]), ("%.3g" % magnitudes[0], "%.3g" % magnitudes[-1]))
        self.assertEqual(shown["32-127"], "%.3g" % (sum(magnitudes[1:4]) / 3))

    def test_the_spectrum_goes_on_from_its_journal(self):
        arguments = ["eval", "spectrum", self.book, *SPECTRUM, "--json", "--journal", self.journal]
        whole = self.run_command(*arguments).stdout
        lines = self.lines()
        self.assertEqual(len(lines), 1 + 4)
        with open(self.journal, "wb") as file:
            file.write(b"".join(lines[:3]))
        self.assertEqual(self.run_command(*arguments).stdout, whole)
        self.assertEqual(self.lines(), lines)

    def test_a_document_that_has_changed_is_measured_anew(self):
        for arguments in (("attention-recall", self.book, *RECALL, "--budget", "32"), ("spectrum", self.book, *SPECTRUM)):
            journal = os.path.join(self.folder, arguments[0] + ".jsonl")
            self.file("book.txt", text(3000, 3))
            before = self.document("eval", *arguments, "--journal", journal)
            self.file("book.txt", text(3000, 6))
            after = self.document("eval", *arguments, "--journal", journal)
            self.assertNotEqual(after, before)
            self.assertEqual(after, self.document("eval", *arguments))

    def test_a_short_document_has_as_many_pieces_as_fit(self):
        short = self.file("short.txt", text(180, 5))
        count = self.document("tokenize", short, "--model", MODEL, "--count")["count"]
        self.assertEqual(self.document("eval", "spectrum", short, *SPECTRUM[:4], "--pieces", "1000")["pieces"], count // 95)

    def test_what_cannot_be_measured_is_refused(self):
        for arguments, said in ((["attention-recall", self.book, "--model", MODEL, "--chunk", "16"], "measure its first tokens only"),
                                (["attention-recall", self.book, *RECALL[:4], "--rows", "17"], "17 tokens are more than a chunk of 16"),
                                (["attention-recall", self.file("a.txt", "A."), *RECALL], "too few to look at the attention of 8"),
                                (["spectrum", self.book, "--model", MODEL, "--length", "100"], "100 tokens are not a multiple of 32"),
                                (["spectrum", self.book, "--model", MODEL, "--length", "64"], "64 tokens are not a multiple"),
                                (["spectrum", self.book, "--model", MODEL, "--length", "1M"], "does not fit the"),
                                (["spectrum", self.file("b.txt", "A."), *SPECTRUM], "too few for a text of 96")):
            self.assertIn(said, self.run_command("eval", *arguments, status=2).stderr.decode())


if __name__ == "__main__":
    run("__main__")
