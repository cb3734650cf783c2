"""eval: measurements that end, go on after they were stopped or killed, and refuse what they cannot measure.
Usage: eval_process_test.py PALIMPSEST MODEL_FIXTURES"""
import os
import signal

from patience import wait_until
from session_harness import MODEL, ProgramTest, run, text

NEEDLE = ["--model", MODEL, "--chunk", "16", "--lengths", "400,600", "--depths", "0,50,100"]


class EvalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(3000, 3).replace("\n", ".\n"))

    def needle(self, *more, status=0):
        return self.run_command("eval", "needle", self.book, *NEEDLE, *more, status=status)

    @staticmethod
    def lines(path):
        if not os.path.exists(path):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")

    def test_every_policy_budget_length_and_depth_is_measured(self):
        result = self.document("eval", "needle", self.book, *NEEDLE, "--policies", "treekv,streaming:sinks=2", "--budgets", "64,25%",
                               "--trials", "2", "--generate", "3")
        self.assertEqual((result["schema"], result["protocol"], result["alternatives"]), ("palimpsest.needle/1", "blind", 10))
        self.assertEqual([(r["policy"], r["budget"]) for r in result["results"]],
                         [(p, b) for p in ("treekv", "streaming:sinks=2") for b in ("64", "25%")])
        for measured in result["results"]:
            self.assertEqual([(c["depth"], c["length"]) for c in measured["cells"]],
                             [(d, n) for d in (0, 50, 100) for n in (400, 600)])
            for cell in measured["cells"]:
                self.assertEqual(cell["budget"], 64 if measured["budget"] == "64" else cell["length"] // 4)
                self.assertEqual(cell["asked"], 2)
                self.assertEqual(cell["share"], cell["chosen"] / 2)
                self.assertLessEqual(cell["interval"][0], cell["share"])
                self.assertLessEqual(cell["generated"], 2)
        held = {(r["policy"], c["depth"]): c["held"] for r in result["results"] if r["budget"] == "64" for c in r["cells"]}
        self.assertEqual(held["streaming:sinks=2", 50], 0)  # it keeps the first two tokens and the newest
        self.assertGreater(held["streaming:sinks=2", 100], 0.5)

    def test_what_keeps_everything_is_measured_once_and_as_far_as_the_model_reads(self):
        results = self.document("eval", "needle", self.book, *NEEDLE[:4], "--lengths", "100,2k", "--depths", "50", "--policies",
                                "full,treekv", "--budgets", "64,32")["results"]
        self.assertEqual([(r["policy"], r["budget"]) for r in results], [("full", "none"), ("treekv", "64"), ("treekv", "32")])
        self.assertEqual((results[0]["too_long"], results[1]["too_long"]), ([2048], []))
        self.assertEqual([(c["length"], c["held"], c["budget"]) for c in results[0]["cells"]], [(100, 1, None)])

    def test_needles_of_one_text_are_asked_together(self):
        result = self.document("eval", "needle", self.book, *NEEDLE, "--policies", "treekv", "--budgets", "64", "--together", "--decoys", "1",
                               "--wording", "paraphrased")
        self.assertEqual(len(result["results"][0]["cells"]), 6)
        said = self.needle("--together", "--protocol", "steered", status=2).stderr.decode()
        self.assertIn("--together: several questions", said)

    def test_the_table_says_what_the_document_says(self):
        arguments = ["--policies", "treekv", "--budgets", "64"]
        shown = self.needle(*arguments).stdout.decode()
        cells = self.document("eval", "needle", self.book, *NEEDLE, *arguments)["results"][0]["cells"]
        self.assertIn("all: %d of 6 likeliest" % sum(c["chosen"] for c in cells), shown)
        rows = [line.split() for line in shown.splitlines() if line.split()[1:2] == ["%"]]
        self.assertEqual([(row[0], row[2], row[4]) for row in rows],
                         [("%g" % d, *("%.0f" % (100 * c["share"]) for c in cells if c["depth"] == d)) for d in (0, 50, 100)])

    def test_a_measurement_goes_on_from_its_journal(self):
        journal = os.path.join(self.folder, "needle.jsonl")
        arguments = ["--policies", "treekv,streaming", "--budgets", "64", "--journal", journal]
        whole = self.needle(*arguments, "--json").stdout
        with open(journal, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        self.assertEqual(len(lines), 1 + 2 * 6)
        for kept in (lines[:1], lines[:5], lines[:5] + [lines[5][:30]], [lines[0][:30]], []):
            with open(journal, "wb") as file:
                file.write(b"".join(kept))
            self.assertEqual(self.needle(*arguments, "--json").stdout, whole)
            with open(journal, "rb") as file:
                self.assertEqual(sorted(file.read().splitlines()), sorted(line.strip() for line in lines))

    def test_a_killed_or_stopped_measurement_goes_on(self):
        whole = self.needle("--budgets", "64", "--trials", "8", "--json").stdout
        for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            journal = os.path.join(self.folder, "%d.jsonl" % number)
            arguments = ["eval", "needle", self.book, *NEEDLE, "--budgets", "64", "--trials", "8", "--journal", journal]
            process = self.start(*arguments)
            wait_until(lambda: self.lines(journal) > 2 or process.poll() is not None)
            process.send_signal(number)
            out, err = process.communicate()
            self.assertEqual((process.returncode, out), (status, b""))
            if number == signal.SIGINT:
                self.assertIn(b"the results so far are in", err)
            self.assertLess(self.lines(journal), 49)
            self.assertEqual(self.run_command(*arguments, "--json").stdout, whole)

    def test_a_journal_of_something_else_is_refused_and_left(self):
        journal = os.path.join(self.folder, "one.jsonl")
        self.needle("--budgets", "64", "--journal", journal)
        with open(journal, "rb") as file:
            before = file.read()
        same = [argument.replace("0,50,100", "0.0,50,100") for argument in NEEDLE]
        self.run_command("eval", "needle", self.book, *same, "--budgets", "64", "--journal", journal)
        said = self.needle("--budgets", "64", "--journal", journal, "--decoys", "2", status=2).stderr.decode()
        self.assertIn("it holds the results of another measurement", said)
        other = self.file("letter.txt", "Dear Ada,\n")
        self.assertIn("something else", self.needle("--journal", other, status=2).stderr.decode())
        unended = self.file("note.txt", "Dear Ada")
        self.assertIn("something else", self.needle("--journal", unended, status=2).stderr.decode())
        self.assertIn("cannot be written", self.needle("--journal", self.folder, status=1).stderr.decode())
        for path, content in ((journal, before), (other, b"Dear Ada,\n"), (unended, b"Dear Ada")):
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_what_cannot_be_measured_is_refused(self):
        for arguments, said in ((["--depths", "0,101"], "101"), (["--depths", "deep"], "'deep' is not a number"),
                                (["--lengths", "100k"], "too few for a text of"), (["--lengths", "10"], "ask for a longer text")):
            result = self.run_command("eval", "needle", self.book, *NEEDLE[:4], *arguments, status=2)
            self.assertIn(said, result.stderr.decode())

    def test_what_does_not_fit_is_refused_before_anything_is_read(self):
        journal = os.path.join(self.folder, "early.jsonl")
        for arguments, said, status in ((("--policies", "treekv,treekw", "--budgets", "64"), "treekw", 2), (("--budgets", "64,0"), "--budget", 2),
                                        (("--policies", "treekv,streaming:sinks=64", "--budgets", "32"), "sinks", 2),
                                        (("--budget", "64", "--pin", "no such passage here"), "no such passage here", 3)):
            self.assertIn(said, self.needle(*arguments, "--journal", journal, status=status).stderr.decode())
            result = self.run_command("eval", "recall", self.file("diary.txt", self.diary()), *NEEDLE[:4], *arguments, "--journal", journal,
                                      status=status)
            self.assertIn(said, result.stderr.decode())
            self.assertFalse(os.path.exists(journal))

    def test_pinned_tokens_are_kept(self):
        arguments = ["--policies", "streaming:sinks=2", "--budgets", "64", "--lengths", "400", "--depths", "50"]
        held = lambda *more: self.document("eval", "needle", self.book, *NEEDLE[:4], *arguments, *more)["results"][0]["cells"][0]["held"]
        self.assertEqual(held(), 0)
        self.assertGreater(held("--pin", "150-200"), 0)

    def test_the_same_question_is_counted_once_and_one_needle_stands_at_every_depth(self):
        once = self.document("eval", "needle", self.book, *NEEDLE, "--budgets", "64")
        twice = self.document("eval", "needle", self.book, *NEEDLE[:4], "--lengths", "400,600,400", "--depths", "0,50,0,100",
                              "--policies", "treekv,treekv", "--budgets", "64,64")
        self.assertEqual(once, twice)

    def test_a_policy_without_attention_does_not_know_the_question(self):
        result = self.document("eval", "needle", self.book, *NEEDLE, "--policies", "streaming,snapkv", "--budgets", "64", "--protocol",
                               "steered")
        self.assertEqual([r["ignores_question"] for r in result["results"]], [True, False])
        shown = self.needle("--policies", "streaming", "--budgets", "64", "--protocol", "steered").stdout.decode()
        self.assertIn("it looks at no attention", shown)

    def test_a_share_as_budget_is_one_of_what_is_read(self):
        result = self.document("eval", "ppl", self.book, "--model", MODEL, "--chunk", "16", "--budget", "25%", "--first", "200")
        self.assertEqual(result["results"][0]["policy"]["budget"], 50)

    # -- perplexity of windows -----------------------------------------------------------------------------------

    def losses(self, ids, *more):
        """{index: loss} of token ids, and the document with the result."""
        path = self.file("ids.txt", " ".join(map(str, ids)))
        table = os.path.join(self.folder, "losses.csv")
        result = self.document("eval", "ppl", "--token-ids", path, "--model", MODEL, "--policy", "treekv", "--budget", "32", "--chunk", "8",
                               "--per-token", table, *more)
        with open(table, encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()[2:]]
        return {int(index): float(loss) for index, _, loss in rows}, result

    def test_a_window_is_read_as_a_text_of_its_own(self):
        ids = [3 + (7 * i * i + 11 * i) % 200 for i in range(150)]
        windows, result = self.losses(ids, "--window", "64", "--stride", "32")
        self.assertEqual((result["window"], result["stride"]), (64, 32))
        self.assertEqual(sorted(windows), list(range(1, 150)))
        for begin, judged in ((0, 0), (32, 64), (64, 96), (96, 128)):
            own, _ = self.losses(ids[begin:begin + 64])
            for index, loss in own.items():
                if begin + index >= judged:
                    self.assertAlmostEqual(windows[begin + index], loss, delta=1e-5)
        self.assertAlmostEqual(result["results"][0]["mean_loss"], sum(windows.values()) / 149, delta=1e-5)

    def test_a_window_that_holds_the_text_changes_nothing(self):
        plain, _ = self.losses(range(5, 65))
        self.assertEqual(self.losses(range(5, 65), "--window", "1k")[0], plain)

    def test_windows_that_are_not_possible_are_refused(self):
        for arguments, said in ((("--stride", "8"), "give --window too"), (("--window", "64", "--stride", "65"), "is not between 1"),
                                (("--window", "64", "--pin", "1-2"), "windows hold different tokens"),
                                (("--window", "2k", "--policy", "full", "--budget", "none"), "choose a smaller window")):
            result = self.run_command("eval", "ppl", self.book, "--model", MODEL, "--chunk", "8", *arguments, status=2)
            self.assertIn(said, result.stderr.decode())

    def diary(self, days=40):
        """Whose sentences each have a number that no other has, and words before it that stand nowhere else."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        return "".join("That week they had counted on day %s%s some %d ships. " % (letters[i // 26], letters[i % 26], 100 + 7 * i)
                       for i in range(days))

    def test_recall_asks_for_words_of_the_document(self):
        book = self.file("diary.txt", self.diary())
        result = self.document("eval", "recall", book, *NEEDLE[:4], "--policies", "treekv,streaming", "--budgets", "64", "--questions", "10")
        self.assertEqual((result["schema"], result["alternatives"]), ("palimpsest.recall/1", 10))
        self.assertEqual(len(result["questions"]), 10)
        for question in result["questions"]:
            self.assertIn(question["sentence"] + " " + question["answer"] + " ships.", self.diary())
            place = self.diary().index(question["sentence"] + " " + question["answer"]) + len(question["sentence"]) + 1
            self.assertAlmostEqual(question["depth"], place / len(self.diary()), delta=0.01)
        self.assertEqual([(r["policy"], r["budget"]) for r in result["results"]], [("treekv", "64"), ("streaming", "64")])
        for measured in (result["without_text"], *result["results"]):
            self.assertEqual((measured["asked"], sum(part["asked"] for part in measured["by_depth"])), (10, 10))
            self.assertEqual([part["asked"] for part in measured["by_depth"]], [2] * 5)
            self.assertEqual(measured["chosen"], sum(measured["answers"]))
        shown = self.run_command("eval", "recall", book, *NEEDLE[:4], "--budget", "64", "--questions", "10").stdout.decode()
        self.assertIn("without the text\n  %d of 10 likeliest" % result["without_text"]["chosen"], shown)
        self.assertIn("treekv  budget 64\n  %d of 10 likeliest" % result["results"][0]["chosen"], shown)

    def test_the_loss_of_a_remembered_word_is_that_of_the_text_that_goes_on_with_it(self):
        """The same losses, measured as the perplexity of a text that ends with the question and its answer."""
        diary = "".join("We saw on day %s a %d. " % (chr(97 + i), 10 + i) for i in range(11))
        measured = self.document("eval", "recall", self.file("diary.txt", diary), *NEEDLE[:4], "--policy", "full", "--questions", "1")
        question = measured["questions"][0]
        before = diary + "\n\n" + question["sentence"]
        count = lambda name, content: self.document("tokenize", self.file(name, content), "--model", MODEL, "--count")["count"]
        answered = self.file("answered.txt", before + " " + question["answer"] + ".")
        tokens = count("answered.txt", before + " " + question["answer"] + ".") - count("before.txt", before)
        losses = os.path.join(self.folder, "losses.csv")
        self.run_command("eval", "ppl", answered, *NEEDLE[:4], "--policy", "full", "--budget", "none", "--per-token", losses)
        with open(losses, encoding="utf-8") as file:
            last = [float(line.rsplit(",", 1)[1]) for line in file.read().splitlines()[-tokens:]]
        self.assertAlmostEqual(sum(last), measured["results"][0]["mean_loss"], delta=1e-3)

    def test_recall_goes_on_from_its_journal_and_needs_something_to_ask_for(self):
        book = self.file("diary.txt", self.diary())
        journal = os.path.join(self.folder, "recall.jsonl")
        arguments = ["eval", "recall", book, *NEEDLE[:4], "--budgets", "64,32", "--questions", "5", "--json"]
        whole = self.run_command(*arguments).stdout
        self.assertEqual(self.run_command(*arguments, "--journal", journal).stdout, whole)
        with open(journal, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        self.assertEqual(len(lines), 4)  # head, without the text, two budgets
        with open(journal, "wb") as file:
            file.write(b"".join(lines[:3]))
        self.assertEqual(self.run_command(*arguments, "--journal", journal).stdout, whole)
        edited = self.file("diary.txt", self.diary().replace(" ships", " boats"))
        anew = self.run_command("eval", "recall", edited, *arguments[3:]).stdout
        self.assertNotEqual(anew, whole)
        self.assertEqual(self.run_command("eval", "recall", edited, *arguments[3:], "--journal", journal).stdout, anew)
        short = self.file("short.txt", "A short text.")
        self.assertIn("no sentence to ask for", self.run_command("eval", "recall", short, *NEEDLE[:4], status=1).stderr.decode())


if __name__ == "__main__":
    run("__main__")
