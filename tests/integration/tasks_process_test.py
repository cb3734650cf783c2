"""eval tasks: benchmark questions whose answers are known because the same model gave them to `ask`.
Usage: tasks_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import signal

from patience import wait_until
from session_harness import MODEL, ProgramTest, run, text

SMALL = ["--model", MODEL, "--chunk", "16", "--positions", "contiguous"]  # as ask, which does not know how long its stream will be
SHORT = ["--max-tokens", "12"]
AS_ASK = ["--template", "{context}\n\nQuestion: {input}\nAnswer:"]
QUESTIONS = ["Who wrote in his book?", "Was the sea calm?"]


class TasksTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.story = text(120, 4)
        self.book = self.file("book.txt", self.story)

    def lines(self, name, *objects):
        return self.file(name, "".join(json.dumps(one) + "\n" for one in objects))

    def longbench(self, question=QUESTIONS[0], answers=("x",), **more):
        return {"input": question, "context": self.story, "answers": list(answers), "length": 120, "dataset": "hotpotqa", "language": "en",
                "all_classes": None, "_id": "1", **more}

    def asked(self, question, *more):
        said = self.document("ask", self.book, question, *SMALL, *SHORT, "--no-save", "--reread", "never", "--answer-from", "session", "--prompt", "{}", *more)
        return said["answers"][0]["text"]

    def tasks(self, file, *more):
        return self.document("eval", "tasks", file, *SMALL, *more)

    def texts(self, result, at=0):
        return [answer["text"] for answer in result["results"][at]["answers"]]

    def test_answers_are_those_of_ask_and_score_1_where_they_are_the_right_ones(self):
        said = [self.asked(question, "--budget", "64") for question in QUESTIONS]
        self.assertNotEqual(said[0].strip(), "")
        file = self.lines("known.jsonl", self.longbench(QUESTIONS[0], ["something else", said[0]]), self.longbench(QUESTIONS[1], [said[1] + "!"]))
        result = self.tasks(file, *SHORT, *AS_ASK, "--budgets", "64", "--metric", "exact")
        self.assertEqual(result["schema"], "palimpsest.tasks/1")
        self.assertEqual(self.texts(result), said)
        self.assertEqual([answer["score"] for answer in result["results"][0]["answers"]], [1, 0])
        scores = result["results"][0]["scores"]
        self.assertEqual([(s["dataset"], s["metric"], s["asked"], s["mean"]) for s in scores], [("hotpotqa", "exact", 2, 0.5)])
        self.assertTrue(0 < scores[0]["interval"][0] < 0.5 < scores[0]["interval"][1] < 1)

    def test_the_three_forms_of_a_question_have_the_same_answer(self):
        longbench = self.lines("longbench.jsonl", *(self.longbench(question) for question in QUESTIONS))
        leval = self.lines("leval.jsonl", {"instructions": QUESTIONS, "input": self.story, "outputs": ["x", "y"], "source": "", "evaluation": "f1"})
        ruler = self.lines("niah_single.jsonl", *({"index": 0, "input": "%s\n%s" % (self.story, question), "outputs": ["x"], "length": 9,
                                                    "answer_prefix": "\nAnswer:"} for question in QUESTIONS))
        arguments = [*SHORT, "--budgets", "64"]
        expected = [self.asked(question, "--budget", "64") for question in QUESTIONS]
        self.assertEqual(self.texts(self.tasks(longbench, *arguments, *AS_ASK)), expected)
        self.assertEqual(self.texts(self.tasks(leval, *arguments, *AS_ASK)), expected)
        asked = self.tasks(ruler, *arguments, "--template", "{context}\n\nQuestion: {input}")
        self.assertEqual(self.texts(asked), expected)
        self.assertEqual([(task["form"], task["dataset"], task["metric"]) for task in asked["tasks"]],
                         [("ruler", "niah_single", "match-all")] * 2)

    def test_a_question_may_be_known_while_the_text_is_read(self):
        leval = self.lines("leval.jsonl", {"instructions": QUESTIONS, "input": self.story, "outputs": ["x", "y"], "source": "", "evaluation": "f1"})
        for protocol, option in (("question-last", "--question-last"), ("steered", "--steer")):
            arguments = ["--policy", "snapkv", "--budget", "64"]
            result = self.tasks(leval, *SHORT, *AS_ASK, *arguments, "--protocol", protocol)
            self.assertEqual(result["protocol"], protocol)
            self.assertEqual(self.texts(result), [self.asked(question, *arguments, option) for question in QUESTIONS])

    def test_every_policy_and_budget_answers_every_question(self):
        file = self.lines("some.jsonl", self.longbench(), self.longbench(dataset="lcc"))
        result = self.tasks(file, *SHORT, "--policies", "treekv,streaming", "--budgets", "64,25%")
        self.assertEqual([(r["policy"], r["budget"]) for r in result["results"]], [(p, b) for p in ("treekv", "streaming") for b in ("64", "25%")])
        for measured in result["results"]:
            self.assertEqual([(s["dataset"], s["metric"], s["asked"]) for s in measured["scores"]], [("hotpotqa", "qa-f1", 1), ("lcc", "edit", 1)])
            budget = 64 if measured["budget"] == "64" else result["tasks"][0]["tokens"] // 4
            self.assertEqual([answer["budget"] for answer in measured["answers"]], [budget] * 2)

    def test_a_text_is_cut_only_on_request_and_what_was_cut_is_said(self):
        self.story = text(600, 4)
        file = self.lines("long.jsonl", self.longbench())
        arguments = [*SHORT, "--policies", "full,treekv", "--budgets", "64"]
        whole = self.tasks(file, *arguments)
        self.assertEqual(whole["tasks"][0]["cut"], 0)
        self.assertEqual([r["scores"][0]["too_long"] for r in whole["results"]], [1, 0])
        self.assertEqual((whole["results"][0]["scores"][0]["mean"], self.texts(whole)), (None, [None]))
        cut = self.tasks(file, *arguments, "--truncate-middle", "64")
        task = cut["tasks"][0]
        self.assertEqual((task["tokens"], task["tokens"] + task["cut"]), (64, whole["tasks"][0]["tokens"]))
        self.assertEqual([r["scores"][0]["too_long"] for r in cut["results"]], [0, 0])
        shown = self.run_command("eval", "tasks", file, *SMALL, *arguments, "--truncate-middle", "64").stdout.decode()
        self.assertIn("1 of 1 texts were cut in the middle", shown)
        shown = self.run_command("eval", "tasks", file, *SMALL, *arguments).stdout.decode()
        self.assertIn("hotpotqa: 1 questions n/a, its lists cannot hold", shown)
        self.assertNotIn("were cut", shown)

    def test_the_table_says_what_the_document_says(self):
        said = self.asked(QUESTIONS[0], "--budget", "64")
        file = self.lines("some.jsonl", self.longbench(answers=[said]), self.longbench(QUESTIONS[1]))
        arguments = [*SHORT, "--budgets", "64", "--metric", "rouge-l-letters"]
        score = self.tasks(file, *arguments)["results"][0]["scores"][0]
        shown = self.run_command("eval", "tasks", file, *SMALL, *arguments).stdout.decode()
        self.assertIn("treekv  budget 64", shown)
        row = [line.split() for line in shown.splitlines() if line.startswith("hotpotqa")][0]
        self.assertEqual(row, ["hotpotqa", "rouge-l-letters", "2", "%.3f" % score["mean"], "%.3f" % score["interval"][0], "to",
                               "%.3f" % score["interval"][1]])

    def test_a_killed_or_stopped_measurement_goes_on(self):
        file = self.lines("many.jsonl", *(self.longbench("Which of them is number %d?" % i) for i in range(24)))
        arguments = ["eval", "tasks", file, *SMALL, *SHORT, "--budgets", "64,32"]
        whole = self.run_command(*arguments, "--json").stdout
        for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            journal = os.path.join(self.folder, "%d.jsonl" % number)
            process = self.start(*arguments, "--journal", journal)
            wait_until(lambda: self.written(journal) > 2 or process.poll() is not None)
            process.send_signal(number)
            out, err = process.communicate()
            self.assertEqual((process.returncode, out), (status, b""))
            if number == signal.SIGINT:
                self.assertIn(b"the results so far are in", err)
            self.assertLess(self.written(journal), 49)
            self.assertEqual(self.run_command(*arguments, "--journal", journal, "--json").stdout, whole)
            self.assertEqual(self.written(journal), 49)

    @staticmethod
    def written(journal):
        if not os.path.exists(journal):
            return 0
        with open(journal, "rb") as file:
            return file.read().count(b"\n")

    def test_right_answers_and_metrics_may_change_behind_a_journal_and_texts_are_read_anew(self):
        journal = os.path.join(self.folder, "tasks.jsonl")
        arguments = [*SHORT, "--budgets", "64", "--journal", journal]
        first = self.tasks(self.lines("some.jsonl", self.longbench()), *arguments)
        said = self.texts(first)[0]
        again = self.tasks(self.lines("some.jsonl", self.longbench(answers=[said])), *arguments, "--metric", "exact")
        self.assertEqual((self.texts(again), again["results"][0]["scores"][0]["mean"], self.written(journal)), ([said], 1, 2))
        self.story += "And then nothing. "
        self.tasks(self.lines("some.jsonl", self.longbench()), *arguments)
        self.assertEqual(self.written(journal), 3)

    def test_synthetic_questions_are_written_as_long_as_asked_for_and_are_read(self):
        for task, answers, most in (("niah_single", 1, 128), ("vt", 5, 30), ("fwe", 3, 50)):
            written = self.run_command("eval", "ruler", "--model", MODEL, "--task", task, "--length", "800", "--samples", "2").stdout.decode()
            lines = [json.loads(line) for line in written.splitlines()]
            self.assertEqual([(line["index"], line["task"], len(line["outputs"])) for line in lines], [(i, task, answers) for i in range(2)])
            for line in lines:
                self.assertTrue(700 < line["length"] <= 800, line["length"])
            self.assertNotEqual(lines[0]["outputs"], lines[1]["outputs"])
            result = self.tasks(self.file("file.jsonl", written), "--max-tokens", "4", "--budgets", "64")
            self.assertEqual([(t["form"], t["dataset"], t["metric"]) for t in result["tasks"]], [("ruler", task, "match-all")] * 2)
            for line, asked in zip(lines, result["tasks"]):
                self.assertGreater(line["length"], asked["tokens"] + most)  # with question and answer
        said = self.run_command("eval", "ruler", "--model", MODEL, "--task", "cwe", "--length", "300", status=2).stderr.decode()
        self.assertIn("cwe: its shortest text has", said)

    def test_what_cannot_be_scored_is_left_out_or_refused(self):
        chinese = self.longbench(dataset="multifieldqa_zh")
        file = self.lines("mixed.jsonl", self.longbench(), chinese, chinese)
        result = self.run_command("eval", "tasks", file, *SMALL, *SHORT, "--budgets", "64", "--json")
        self.assertIn("chat template cannot be used", result.stderr.decode())
        self.assertIn("2 questions have no metric that is computed here", result.stderr.decode())
        self.assertEqual([json.loads(result.stdout)[key] for key in ("left_out",)], [2])
        only = self.lines("chinese.jsonl", chinese)
        self.assertIn("no question that can be scored", self.run_command("eval", "tasks", only, *SMALL, status=1).stderr.decode())
        self.assertEqual(len(self.texts(self.tasks(only, *SHORT, "--budgets", "64", "--metric", "exact"))), 1)
        broken = self.file("broken.jsonl", json.dumps(self.longbench()) + "\n\n{\"context\": \n")
        said = self.run_command("eval", "tasks", broken, *SMALL, status=1).stderr.decode()
        self.assertIn("broken.jsonl, line 3: not valid JSON at byte 13; give one JSON object per line [PAL-DOC-10]", said)
        self.assertEqual(len(self.tasks(broken, "--lines", "1", *SHORT, "--budgets", "64")["tasks"]), 1)
        self.run_command("eval", "tasks", os.path.join(self.folder, "none.jsonl"), *SMALL, status=3)
        self.run_command("eval", "tasks", self.folder, *SMALL, status=1)
        for arguments, sentence in ((["--template", "{input}"], "it has no {context}"), (["--template", "{context}"], "it has no {input}"), (["--pin", "1-2"], "leave it out"),
                                    (["--metric", "bleu"], "bleu"), (["--truncate-middle", "half"], "'half' is not possible"), (["--truncate-middle", "1"], "give 2 or more")):
            self.assertIn(sentence, self.run_command("eval", "tasks", file, *SMALL, *arguments, status=2).stderr.decode())
        no_model = ["--model", os.path.join(self.folder, "none.gguf")]
        self.assertIn("--truncate-middle", self.run_command("eval", "tasks", file, *no_model, "--truncate-middle", "half", status=2).stderr.decode())

    def test_an_exam_of_an_unknown_name_has_no_metric_and_one_that_names_its_dataset_has(self):
        exam = {"instructions": QUESTIONS[:1], "input": self.story, "outputs": ["A"], "evaluation": "exam"}
        said = self.run_command("eval", "tasks", "-", *SMALL, stdin=json.dumps(exam).encode(), status=1).stderr.decode()
        self.assertIn("1 questions have no metric that is computed here", said)
        named = self.run_command("eval", "tasks", "-", *SMALL, *SHORT, "--budgets", "64", "--json", stdin=json.dumps({**exam, "dataset": "tpo"}).encode())
        self.assertEqual([t["metric"] for t in json.loads(named.stdout)["tasks"]], ["option"])

    def test_scores_of_several_files_stand_apart(self):
        files = [self.lines(name, self.longbench()) for name in ("first.jsonl", "second.jsonl")]
        arguments = [*SHORT, "--budgets", "64"]
        scores = self.document("eval", "tasks", *files, *SMALL, *arguments)["results"][0]["scores"]
        self.assertEqual([(s["file"], s["dataset"], s["asked"]) for s in scores], [(file, "hotpotqa", 1) for file in files])
        shown = self.run_command("eval", "tasks", *files, *SMALL, *arguments).stdout.decode()
        self.assertEqual([line.split()[1] for line in shown.splitlines() if ".jsonl" in line], ["hotpotqa"] * 2)

    def test_progress_counts_questions_and_answers(self):
        file = self.lines("leval.jsonl", {"instructions": QUESTIONS, "input": self.story, "outputs": ["x", "y"], "evaluation": "f1"})
        events = self.run_command("eval", "tasks", file, *SMALL, "--max-tokens", "200", "--budgets", "64", "--events", "--json").stderr.decode()
        read = [event for event in map(json.loads, filter(None, events.splitlines())) if event.get("event") == "progress"]
        self.assertTrue(read)
        tokens = [event["tokens_seen"] for event in read]
        self.assertEqual(tokens, sorted(tokens))
        self.assertGreater(read[-1]["tokens_total"], 400 + 120)

    def test_writing_questions_ends_with_its_reader_with_a_full_disk_and_when_stopped(self):
        arguments = ["eval", "ruler", "--model", MODEL, "--task", "vt", "--length", "800", "--samples", "100000"]
        stopped = self.start(*arguments)
        stopped.stdout.readline()
        stopped.send_signal(signal.SIGINT)
        self.assertIn(b"of 100000 questions", stopped.communicate()[1])
        self.assertEqual(stopped.returncode, 130)
        unread = self.start(*arguments)
        unread.stdout.readline()
        unread.stdout.close()
        unread.stdin.close()
        self.assertEqual(unread.stderr.read(), b"")
        unread.stderr.close()
        unread.wait()
        with open("/dev/full", "wb") as full:
            lost = self.start(*arguments, stdout=full)
            self.assertIn(b"the result could not be written", lost.communicate()[1])


if __name__ == "__main__":
    run("__main__")
