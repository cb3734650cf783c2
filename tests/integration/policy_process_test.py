#!/usr/bin/env python3
"""Every cache policy through the command: explained, read with, inspected, stored and resumed; budgets that the policy
chooses; reading steered by a question. Usage: policy_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import signal

from patience import PATIENCE
from session_harness import FULL, MODEL, AT_CI_LEVEL, SMALL, ProgramTest, run, text

CONTEXT = 256  # of the fixture model
KEEPS_ALL = ("full", "quest", "twilight")
UNSCORED = ("full", "quest", "twilight", "streaming", "lacache", "random", "knorm", "keydiff")
RAGGED = ("pyramidkv", "adakv", "cake:window=16", "refreekv:full_layers=0,threshold=0.2", "twilight-evict", "treekv:budget=pyramid", "snapkv:heads=ada")
CHOOSES = ("h2o", "tova", "snapkv", "treekv", "treekv-log", "hbw-kv", "chunkkv", "adakv")  # support budget=auto
LAYERS, HEADS, BUDGET, CHUNK = 2, 2, 64, 16


class PolicyTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(60, 1))  # fits the context together with an answer
        self.policies = self.document("policies", "list")["policies"]

    def fails(self, status, code, *arguments, **more):
        errors = [line for line in self.run_command(*arguments, status=status, **more).stderr.decode().splitlines()
                  if line.startswith("palimpsest: ")]
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].endswith("[%s]" % code), errors[0])
        return errors[0]

    # -- every policy --------------------------------------------------------------------------------------------------

    def test_every_policy_is_explained(self):
        names = [p["name"] for p in self.policies]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            with self.subTest(policy=name):
                shown = self.run_command("policies", "show", name).stdout.decode()
                described = self.document("policies", "show", name)
                for field in ("keeps", "signals", "cost", "positions", "paper"):
                    self.assertTrue(described[field] or (name, field) == ("full", "paper"))
                    self.assertIn(described[field], shown)
                for parameter in described["parameters"]:
                    self.assertEqual(set(parameter), {"key", "meaning", "default", "range"})
                    self.assertTrue(all(parameter.values()), parameter)
                    self.assertIn(parameter["key"], shown)
                    self.assertIn(parameter["range"], shown)

    def test_every_policy_reads_and_shows_what_it_keeps(self):
        for policy in self.policies:
            name = policy["name"]
            with self.subTest(policy=name):
                budget = [] if name in KEEPS_ALL else ["--budget", str(BUDGET)]
                settings = ["--model", MODEL, "--chunk", str(CHUNK), "--policy", name, *budget]
                shown = self.document("inspect", self.book, *settings)
                self.assertEqual(shown["policy"]["name"], name)
                lengths = [len(h["tokens"]) for h in shown["heads"]]
                if name in KEEPS_ALL:
                    self.assertEqual(set(lengths), {shown["tokens_seen"]})
                else:
                    self.assertLess(BUDGET, shown["tokens_seen"])
                    self.assertLessEqual(sum(lengths), LAYERS * HEADS * BUDGET)
                    self.assertGreater(min(lengths), 0)
                for head in shown["heads"]:
                    self.assertEqual(head["tokens"], sorted(set(head["tokens"])))
                    self.assertLess(head["tokens"][-1], shown["tokens_seen"])
                self.assertEqual(shown["policy"]["budgets"]["layers"],
                                 [sum(lengths[l * HEADS:(l + 1) * HEADS]) / HEADS for l in range(LAYERS)])
                self.assertAlmostEqual(sum(shown["reach"]["kept_by_tenth_of_the_input"]), 1)
                again = self.document("inspect", self.book, *settings, "--threads", "1")
                self.assertEqual(again["heads"], shown["heads"])
                summary = self.document("summarize", self.book, *settings, "--max-tokens", "6")
                self.assertEqual(summary["coverage"]["tokens_read"], summary["coverage"]["tokens_in_input"])
                self.assertEqual(summary["protocol"], "blind")
                picture = self.run_command("inspect", self.book, *settings)
                self.assertIn("│".encode(), picture.stdout)
                uneven = len(set(lengths)) > 1
                self.assertEqual(b"\nkept: " in b"\n" + picture.stderr, uneven)

    def test_policies_that_spread_the_budget_give_lists_different_lengths(self):
        for name in RAGGED:
            shown = self.document("inspect", self.book, *SMALL, "--policy", name)
            self.assertGreater(len({len(h["tokens"]) for h in shown["heads"]}), 1, name)

    def test_the_reported_slots_hold_all_kept_tokens(self):
        for name in [p["name"] for p in self.policies if p["name"] not in KEEPS_ALL]:
            with self.subTest(policy=name):
                result = self.run_command("inspect", self.book, *SMALL, "--policy", name, "--events", "--json")
                kept = sum(len(h["tokens"]) for h in json.loads(result.stdout)["heads"])
                events = [json.loads(line) for line in result.stderr.decode().splitlines()]
                last = [e for e in events if e["event"] == "progress"][-1]
                self.assertLessEqual(last["slots_used"], last["slots_capacity"])
                self.assertGreaterEqual(last["slots_capacity"], kept)

    def test_retrieval_policies_are_measured_token_by_token(self):
        settings = ["--model", MODEL, "--chunk", "16"]
        # With p = 1 and a budget for all tokens, twilight attends to all of them, so that it equals full attention.
        policies = {"full": [], "twilight:p=1,skip_layers=0": [], "twilight:p=0.05,skip_layers=0": ["--budgets", "32"],
                    "quest:page=4,skip_layers=0": ["--budgets", "32"]}
        loss = {}
        for arguments in (["eval", "ppl"], ["compare"]):
            for policy, budget in policies.items():
                result = self.document(*arguments, self.book, *settings, "--policies", policy, *budget)["results"][0]
                self.assertTrue(result["complete"])
                self.assertEqual(result["policy"]["chunk"], 16 if policy == "full" else 1)
                loss[arguments[0], policy] = result["mean_loss"]
            full, everything, *others = (loss[arguments[0], policy] for policy in policies)
            self.assertAlmostEqual(everything, full, delta=1e-3)
            for other in others:
                self.assertGreater(abs(other - full), 5e-3)
        for policy in policies:
            self.assertAlmostEqual(loss["eval", policy], loss["compare", policy], delta=1e-3)

    def test_retrieval_policies_report_what_they_keep_and_read(self):
        arguments = ["summarize", self.book, "--model", MODEL, "--chunk", "16", "--max-tokens", "24"]
        full = self.document(*arguments, "--policy", "full")
        for policy in ("quest:page=4,skip_layers=0", "twilight:page=4,skip_layers=0,p=0.05"):
            with self.subTest(policy=policy):
                part = [*arguments, "--policy", policy, "--budget", "32", "--pin", "0-9"]
                answer = self.document(*part)
                self.assertNotEqual(answer["answers"][0]["text"], full["answers"][0]["text"])
                self.assertEqual(answer["policy"]["budget"], 32)
                self.assertEqual(answer["policy"]["budgets"]["cap"], CONTEXT)
                self.assertEqual(answer["policy"]["budgets"]["layers"], full["policy"]["budgets"]["layers"])
                shown = self.run_command(*part).stderr.decode()
                self.assertIn("keeps everything, reads 32 tokens per step", shown)
                self.assertIn("take %.1f %% of the room for everything" % (100 * 10 / CONTEXT), shown)

    # -- budgets that the policy chooses -------------------------------------------------------------------------------

    def test_a_policy_that_scores_chooses_its_budget(self):
        for name in CHOOSES:
            with self.subTest(policy=name):
                read = lambda budget: self.document("inspect", self.book, "--model", MODEL, "--chunk", str(CHUNK),
                                                    "--policy", name, "--budget", budget)
                chosen = read("auto:64")
                budgets = chosen["policy"]["budgets"]
                self.assertEqual((chosen["policy"]["budget"], budgets["mode"], budgets["cap"]), (64, "auto", 64))
                self.assertEqual(chosen["policy"]["parameters"]["budget"], "auto")
                self.assertTrue(all(0 < length <= 64 for length in budgets["layers"]), budgets)
                self.assertEqual(read("auto:25%")["policy"]["budget"], chosen["coverage"]["tokens_in_input"] // 4)

    def test_chosen_budgets_are_reported(self):
        result = self.run_command("summarize", self.book, "--model", MODEL, "--chunk", "16", "--budget", "auto:64",
                                  "--policy", "h2o", "--max-tokens", "4")
        self.assertRegex(result.stderr.decode(), r"\nkept:     [\d.]+ to [\d.]+ tokens per layer and head, [\d.]+ on average; "
                                                 r"as many as attention needs, at most 64\n")
        compared = self.document("compare", self.book, "--policies", "h2o,snapkv", "--budgets", "auto:64,64", "--model", MODEL,
                                 "--chunk", "16")
        self.assertEqual([r["policy"]["budgets"]["mode"] for r in compared["results"]], ["auto", "given"] * 2)
        for r in compared["results"]:
            lengths = [len(h["tokens"]) for h in r["heads"]]
            self.assertEqual(r["policy"]["budgets"]["layers"], [sum(lengths[:2]) / 2, sum(lengths[2:]) / 2])
        measured = self.document("eval", "ppl", self.book, "--model", MODEL, "--policy", "snapkv", "--budget", "auto:64")
        self.assertEqual(measured["results"][0]["policy"]["budgets"]["mode"], "auto")
        self.assertEqual(measured["protocol"], "blind")

    def test_a_session_keeps_how_its_budget_is_chosen(self):
        cache = ["--model", MODEL, "--chunk", "16", "--policy", "h2o"]
        read = self.document("read", self.book, "--session", "s", *cache, "--budget", "auto:64")
        self.assertEqual(read["policy"]["budgets"]["mode"], "auto")
        self.assertEqual(self.document("sessions", "show", "s")["options"]["policy_given"], "h2o:budget=auto")
        for budget in ("auto", "auto:64"):  # the same budget: nothing is read again
            again = self.document("read", self.book, "--session", "s", *cache, "--budget", budget)
            self.assertEqual((again["policy"], again["tokens_fed_again"]), (read["policy"], 0))
        for budget in ("64", "auto:48"):
            self.assertIn("auto:64", self.fails(2, "PAL-SESSION-06", "read", self.book, "--session", "s", *cache, "--budget", budget))
        self.document("read", self.book, "--session", "open", *cache[:4], "--policy", "refreekv", "--budget", "none")
        self.assertEqual(self.document("sessions", "show", "open")["options"]["budget"], "none")
        self.assertIn("--budget none", self.fails(2, "PAL-SESSION-06", "read", self.book, "--session", "open", "--budget", "64"))
        self.run_command("ask", "--session", "open", "who?", "--prompt", "{}", "--max-tokens", "2")
        self.document("read", self.book, "--session", "fixed", *cache, "--budget", "64")
        self.fails(2, "PAL-SESSION-06", "read", self.book, "--session", "fixed", "--budget", "auto")

    def test_impossible_budgets_are_refused(self):
        inspect = ["inspect", self.book, "--model", MODEL, "--chunk", "16"]
        for name in {p["name"] for p in self.policies} - set(CHOOSES):
            with self.subTest(policy=name):
                error = json.loads(self.run_command(*inspect, "--policy", name, "--budget", "auto", "--json", status=2).stderr)
                self.assertRegex(error["code"], r"^PAL-(OPTION-03|POLICY-04)$")
                self.assertIn("budget", error["text"])
                self.assertTrue(error["hint"])
        for policy in self.policies:
            if policy["name"] not in ("full", "refreekv"):
                self.assertIn("only full and refreekv",
                              self.fails(2, "PAL-POLICY-04", *inspect, "--policy", policy["name"], "--budget", "none"))
        self.fails(2, "PAL-OPTION-03", *inspect, "--budget", "auto:")
        self.fails(2, "PAL-OPTION-03", *inspect, "--budget", "auto:none")
        self.assertIn("exclude each other",
                      self.fails(2, "PAL-OPTION-01", *inspect, "--policy", "snapkv:budget=pyramid", "--budget", "auto"))

    # -- reading steered by a question -------------------------------------------------------------------------------

    def steered(self, session, question, *more, book=None, policy="snapkv"):
        return self.document("read", book or self.book, "--session", session, *SMALL, "--policy", policy,
                             *(["--question", question] if question else []), *more)

    def kept(self, session):
        return self.document("inspect", "--session", session)["heads"]

    def test_a_question_changes_what_is_kept(self):
        blind = self.steered("blind", None)
        self.assertEqual((blind["protocol"], blind["question"]), ("blind", None))
        who = self.steered("who", "who wrote the book?")
        self.assertEqual((who["protocol"], who["question"]), ("steered", "who wrote the book?"))
        self.steered("sea", "was the sea calm?")
        self.assertEqual(len({json.dumps(self.kept(name)) for name in ("blind", "who", "sea")}), 3)
        # The question rows are not stored.
        self.assertEqual(who["tokens_seen"], blind["tokens_seen"])
        self.assertEqual([len(h["tokens"]) for h in self.kept("who")], [len(h["tokens"]) for h in self.kept("blind")])

    def test_inspect_can_be_steered_by_a_question(self):
        def inspect(*more, budget="64"):
            return self.document("inspect", self.book, "--model", MODEL, "--chunk", "16", "--budget", budget, "--policy",
                                 "snapkv", *more)
        blind, who, sea = inspect(), inspect("--question", "who wrote the book?"), inspect("--question", "was the sea calm?")
        self.assertEqual((blind["protocol"], "question" in blind), ("blind", False))
        self.assertEqual((who["protocol"], who["question"]), ("steered", "who wrote the book?"))
        self.assertEqual(len({json.dumps(one["heads"]) for one in (blind, who, sea)}), 3)
        self.assertEqual(who["tokens_seen"], blind["tokens_seen"])  # the question rows are not stored
        shown = self.run_command("inspect", self.book, *SMALL, "--policy", "snapkv", "--question", "who?")
        self.assertIn(b"protocol: steered\n", shown.stderr)
        half = inspect("--question", "who wrote the book?", budget="50%")
        self.assertNotEqual(half["heads"], inspect(budget="50%")["heads"])
        for blank in ("", " "):
            self.assertIn("--question", self.fails(2, "PAL-OPTION-06", "inspect", self.book, *SMALL, "--question", blank))
        self.fails(2, "PAL-OPTION-06", "inspect", self.book, *SMALL, "--policy", "streaming", "--question", "who?")
        self.steered("s", None)
        self.fails(2, "PAL-OPTION-01", "inspect", "--session", "s", "--question", "who?")

    def test_receipts_in_events_name_the_protocol(self):
        def receipt(*arguments):
            result = self.run_command(*arguments, "--events")
            self.assertEqual(result.returncode, 0, result.stderr)
            return [e for e in map(json.loads, result.stderr.decode().splitlines()) if e["event"] == "receipt"][0]
        snapkv = [*SMALL, "--policy", "snapkv"]
        ask = ["ask", self.book, "who?", *snapkv, "--max-tokens", "2"]
        self.assertEqual(receipt(*ask)["protocol"], "blind")
        self.assertEqual(receipt(*ask, "--steer")["protocol"], "steered")
        self.assertEqual(receipt(*ask, "--question-last")["protocol"], "question-last")
        self.assertEqual(receipt("inspect", self.book, *snapkv)["protocol"], "blind")
        self.assertEqual(receipt("inspect", self.book, *snapkv, "--question", "who?")["protocol"], "steered")
        self.assertEqual(receipt("read", self.book, "--session", "blind", *snapkv)["protocol"], "blind")
        self.assertEqual(receipt("read", self.book, "--session", "s", *snapkv, "--question", "who?")["protocol"], "steered")
        self.assertEqual(receipt("inspect", "--session", "s")["protocol"], "steered")
        self.assertEqual(receipt("ask", "--session", "s", "who?", "--max-tokens", "2")["protocol"], "steered")

    def test_the_question_belongs_to_the_session(self):
        self.steered("s", "who wrote the book?")
        state = self.state("s")
        again = self.document("read", self.book, "--session", "s")
        self.assertEqual((again["question"], again["tokens_fed_again"]), ("who wrote the book?", 0))
        self.assertEqual(self.state("s"), state)
        self.assertEqual(self.document("sessions", "list")["sessions"][0]["question"], "who wrote the book?")
        self.assertEqual(self.document("sessions", "show", "s")["question"], "who wrote the book?")
        self.assertIn(b"question  who wrote the book?\n", self.run_command("sessions", "show", "s").stdout)
        for command in (["ask", "--session", "s", "who?", "--max-tokens", "2"], ["inspect", "--session", "s"]):
            shown = self.document(*command)
            self.assertEqual((shown["protocol"], shown["question"]), ("steered", "who wrote the book?"))
        self.assertIn("who wrote", self.fails(2, "PAL-SESSION-06", "read", self.book, "--session", "s", "--question", "where?"))
        self.steered("blind", None)
        self.fails(2, "PAL-SESSION-06", "read", self.book, "--session", "blind", "--question", "where?")
        self.fails(2, "PAL-OPTION-06", "read", self.book, "--session", "blind", "--question", "")
        self.assertIsNone(self.document("sessions", "show", "blind")["question"])
        self.run_command("sessions", "fork", "s", "copy")
        moved = os.path.join(self.folder, "s.palimpsest")
        self.run_command("sessions", "export", "s", moved)
        self.run_command("sessions", "import", moved, "--name", "moved")
        for name in ("copy", "moved"):
            self.assertEqual(self.document("read", self.book, "--session", name)["question"], "who wrote the book?")
            self.assertEqual(self.state(name), state)

    def test_a_steered_session_with_a_chat_is_read_again_bit_for_bit(self):
        other = self.file("other.txt", text(60, 2))
        self.steered("s", "who wrote the book?")
        self.run_command("chat", "--session", "s", "--max-tokens", "5", "--temperature", "0", stdin=b"who?\nand where was the sea?\n")
        self.document("read", other, "--session", "s")
        state, kept = self.state("s"), self.kept("s")
        self.run_command("sessions", "strip", "s")
        self.assertGreater(self.document("read", other, "--session", "s")["tokens_fed_again"], 0)
        self.assertEqual(self.kept("s"), kept)
        self.assertEqual(self.state("s"), state)

    def test_a_reading_that_was_stopped_continues_bit_for_bit(self):
        book = self.file("long.txt", text(200000 if FULL else 8000 if AT_CI_LEVEL else 20000, 3))
        for policy, question in [("snapkv", "who wrote the book?"), ("h2o:budget=auto", "was the sea calm?"),
                                 *((name, None) for name in (RAGGED[:2] if AT_CI_LEVEL else RAGGED))]:
            with self.subTest(policy=policy):
                self.steered(policy + " whole", question, book=book, policy=policy)
                name = policy + " cut"
                arguments = ["read", book, "--session", name, *SMALL, "--policy", policy, "--events",
                             "--checkpoint-seconds", "0.05", *(["--question", question] if question else [])]
                process = self.start(*arguments)
                process.stderr.readline()
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 130)
                part = self.document("sessions", "show", name)["states"][0]["tokens_seen"]
                rest = self.document("read", book, "--session", name)
                self.assertLess(part, rest["tokens_seen"])
                self.assertEqual(self.state(name), self.state(policy + " whole"))

    def test_each_question_steers_a_reading_of_its_own(self):
        ask = lambda *questions: self.document("ask", self.book, *questions, *SMALL, "--policy", "snapkv", "--steer", "--max-tokens", "8")
        both = ask("who wrote?", "was the sea calm?")
        alone = [ask(question) for question in ("who wrote?", "was the sea calm?")]
        self.assertEqual(both["protocol"], "steered")
        for answer, single in zip(both["answers"], alone):
            self.assertEqual(answer.pop("reach"), single["reach"])
            self.assertEqual(answer, single["answers"][0])
        self.steered("s", "was the sea calm?")
        stored = self.document("ask", "--session", "s", "was the sea calm?", "--max-tokens", "8")
        self.assertEqual(stored["answers"], alone[1]["answers"])
        self.assertIn(b"\nprotocol: steered\n", self.run_command("ask", self.book, "who?", *SMALL, "--steer").stderr)

    def test_a_summary_is_steered_by_its_instruction(self):
        arguments = ["summarize", self.book, *SMALL, "--no-notes", "--policy", "snapkv", "--prompt", "Say who wrote it.", "--repeat-penalty", "1",
                     "--max-tokens", "8"]
        steered = self.document(*arguments, "--steer")
        self.assertEqual(steered["protocol"], "steered")
        asked = self.document("ask", self.book, "Say who wrote it.", "--prompt", "{}", *SMALL, "--policy", "snapkv", "--steer",
                              "--max-tokens", "8")
        self.assertEqual([a["text"] for a in steered["answers"]], [a["text"] for a in asked["answers"]])
        stored = self.document(*arguments, "--steer", "--session", "s")
        self.assertEqual(stored["answers"], steered["answers"])
        self.assertEqual(self.document("sessions", "show", "s")["question"], "Say who wrote it.")
        self.fails(2, "PAL-OPTION-01", *arguments, "--question-last", "--session", "t")

    def test_question_last_makes_document_and_question_one_input(self):
        for policy in ("snapkv", "snapkv:schedule=once"):
            last = self.document("ask", self.book, "who wrote?", "--prompt", "{}", *SMALL, "--policy", policy, "--question-last",
                                 "--max-tokens", "8")
            self.assertEqual(last["protocol"], "question-last")
            self.assertEqual(last["coverage"]["tokens_read"], last["coverage"]["tokens_in_input"])
        everything = ["ask", self.book, "who wrote?", "--model", MODEL, "--chunk", "16", "--policy", "full", "--max-tokens", "8",
                      "--prompt", "{}"]
        # When all tokens are kept, it makes no difference whether the question is known while reading.
        texts = lambda *more: [a["text"] for a in self.document(*everything, *more)["answers"]]
        self.assertEqual(texts("--question-last"), texts())

    def test_schedule_once_evicts_at_the_end_of_the_first_text(self):
        settings = ["--session", "s", *SMALL, "--policy", "snapkv:window=8,schedule=once"]
        kept = lambda: {len(head["tokens"]) for head in self.document("inspect", "--session", "s")["heads"]}
        first = self.document("read", self.file("first.txt", text(40, 1)), *settings)["tokens_seen"]
        self.assertGreater(first, BUDGET)
        self.assertEqual(kept(), {BUDGET})
        both = self.document("read", self.file("second.txt", text(30, 2)), *settings)["tokens_seen"]
        self.assertEqual(kept(), {BUDGET + both - first})
        self.assertIn("after the first text", self.fails(4, "PAL-BUDGET-02", "read", self.file("third.txt", text(80, 3)), *settings))

    def test_questions_that_cannot_steer_are_refused(self):
        for name in UNSCORED:
            with self.subTest(policy=name):
                budget = [] if name in KEEPS_ALL else ["--budget", "64"]
                arguments = ["--model", MODEL, "--chunk", "16", "--policy", name, *budget]
                self.assertIn("such as", self.fails(2, "PAL-OPTION-06", "read", self.book, "--session", "s", *arguments, "--question", "who?"))
                self.fails(2, "PAL-OPTION-06", "ask", self.book, "who?", *arguments, "--steer")
        for blank in ("", " "):
            self.fails(2, "PAL-OPTION-06", "read", self.book, "--session", "s", *SMALL, "--question", blank)
            self.fails(2, "PAL-OPTION-06", "summarize", self.book, *SMALL, "--prompt", blank)
            self.assertIn("--steer", self.fails(2, "PAL-OPTION-06", "ask", self.book, "who?", blank, *SMALL, "--steer"))
            self.assertIn("--question-last", self.fails(2, "PAL-OPTION-06", "ask", self.book, blank, *SMALL, "--question-last"))
            self.assertIn("QUESTION", self.fails(2, "PAL-OPTION-06", "ask", self.book, blank, *SMALL))
            self.assertIn("QUESTION", self.fails(2, "PAL-OPTION-06", "ask", self.book, "who?", blank, *SMALL))
        self.assertIn("--steer", self.fails(2, "PAL-OPTION-06", "summarize", self.book, *SMALL, "--session", "s", "--policy", "streaming", "--steer"))
        self.fails(2, "PAL-OPTION-06", "read", self.book, "--session", "s", *SMALL, "--question", "who? " * 200)
        self.assertIn("a question", self.fails(2, "PAL-BUDGET-01", "read", self.book, "--session", "s", "--model", MODEL, "--chunk", "16",
                                               "--budget", "235", "--question", "who wrote the book?"))
        self.assertEqual(self.document("sessions", "list")["sessions"], [])
        # The default budget leaves room for the question.
        self.document("read", self.book, "--session", "default", "--model", MODEL, "--chunk", "16", "--question", "who?")
        self.steered("s", "who?")
        self.assertIn("QUESTION", self.fails(2, "PAL-OPTION-06", "ask", "--session", "s", " "))
        self.assertIn("read", self.fails(2, "PAL-OPTION-01", "ask", "--session", "s", "where?", "--steer"))
        self.fails(2, "PAL-OPTION-01", "ask", "--session", "s", "where?", "--question-last")
        self.fails(2, "PAL-OPTION-01", "ask", self.book, "where?", *SMALL, "--steer", "--question-last")
        self.fails(2, "PAL-OPTION-01", "ask", self.book, "a?", "b?", *SMALL, "--steer", "--continue")
        self.fails(2, "PAL-OPTION-01", "ask", "-", "a?", "b?", *SMALL, "--steer", stdin=b"the sea")

    # -- positions -----------------------------------------------------------------------------------------------------

    def test_original_positions_are_used_only_if_the_whole_stream_fits(self):
        long_book = self.file("long.txt", text(600, 4))
        measure = lambda book, *more: self.document("eval", "ppl", book, *SMALL, "--policies", "snapkv,h2o", *more)["results"]
        compare = lambda book: self.document("compare", book, *SMALL, "--policies", "snapkv,h2o")["results"]
        modes = lambda results: [r["policy"]["positions"] for r in results]
        self.assertEqual(modes(measure(self.book)), ["original", "contiguous"])
        self.assertEqual(modes(compare(self.book)), ["original", "contiguous"])
        self.assertEqual(modes(measure(long_book)), ["contiguous", "contiguous"])
        self.assertEqual(modes(compare(long_book)), ["contiguous", "contiguous"])
        self.assertEqual(modes(measure(long_book, "--first", "200")), ["original", "contiguous"])
        self.assertEqual(modes(measure(self.book, "--positions", "contiguous")), ["contiguous", "contiguous"])
        self.assertIn(b"original positions", self.run_command("eval", "ppl", self.book, *SMALL, "--policy", "snapkv").stdout)
        self.assertEqual(self.steered("s", None)["policy"]["positions"], "contiguous")


if __name__ == "__main__":
    run(__name__)
