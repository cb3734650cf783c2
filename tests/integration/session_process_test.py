#!/usr/bin/env python3
"""Stored sessions: their options, pins and checkpoints; compared, copied, moved and deleted.
Usage: session_process_test.py PALIMPSEST MODEL_FIXTURES"""
import fcntl
import html.parser
import json
import os
import re
import shutil
import signal
import sqlite3

from patience import PATIENCE, wait_until
from session_harness import FIXTURES, MODEL, SHORT, SMALL, SessionTest, run, text

OTHER_MODEL = os.path.join(FIXTURES, "llama3-scaled.f16.gguf")
SHIPPED = os.path.join(FIXTURES, "..", "..", "..", "resources", "default-model", "palimpsest-small.gguf")


BEGUN = ["--model", SHIPPED, "--budget", "64", "--chunk", "16"]  # a model that every machine has


class StoredSessionTest(SessionTest):
    # -- options on an existing session ----------------------------------------------------------------------------

    def test_each_command_samples_as_its_own_command_line_says(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        # The prompt is the bare question, as in a chat.
        sampled = ["--temperature", "1.5", "--seed", "3", "--max-tokens", "24", "--prompt", "{}"]
        greedy = self.document("ask", "--session", "one", "who?", "--prompt", "{}", "--max-tokens", "24")
        warm = self.document("ask", "--session", "one", "who?", *sampled)
        self.assertNotEqual(warm["answers"], greedy["answers"])
        self.assertEqual(warm["answers"], self.document("ask", self.book, "who?", *SMALL, *sampled)["answers"])
        self.assertEqual((greedy["temperature"], warm["temperature"], warm["seed"]), (0, 1.5, 3))
        self.environment["PALIMPSEST_TEMPERATURE"] = "1.5"
        self.assertEqual(self.document("ask", "--session", "one", "who?", *sampled[2:])["answers"], warm["answers"])
        del self.environment["PALIMPSEST_TEMPERATURE"]
        summary = lambda *more: self.document("summarize", self.book, "--session", "one", "--max-tokens", "24", *more)
        self.assertNotEqual(summary(*sampled[:4])["answers"], summary()["answers"])

        # A chat samples by default, whichever command created the session; `ask` afterwards is still greedy.
        first = lambda name, *more: self.document("chat", "--session", name, "--max-tokens", "24", *more, stdin=b"who?\n")
        for name in ("cold", "warm", "own"):
            self.run_command("sessions", "fork", "one", name)
        cold = first("cold", "--temperature", "0")
        self.assertEqual(cold["turns"][0]["answer"], greedy["answers"][0]["text"])
        self.assertEqual(first("warm", *sampled[:4])["turns"][0]["answer"], warm["answers"][0]["text"])
        self.assertEqual(first("own")["temperature"], 0.7)
        self.assertEqual(self.document("ask", "--session", "own", "and?")["temperature"], 0)

    def test_a_session_with_a_quantised_cache_continues_bit_for_bit(self):
        begun = ["--model", SHIPPED, "--budget", "64", "--chunk", "16", "--kv-type", "q8"]
        chat = lambda name, lines, *more: self.document("chat", "--session", name, "--max-tokens", "12", *more,
                                                        stdin=lines.encode())
        whole = chat("whole", "one\ntwo\nthree\nfour\n", *begun)["turns"]
        first = chat("parts", "one\ntwo\n", *begun)["turns"]
        rest = chat("parts", "three\nfour\n", "--kv-type", "q8")["turns"]
        self.assertEqual(first + rest, whole)
        self.assertEqual(self.state("parts"), self.state("whole"))
        self.assertEqual(self.document("sessions", "show", "parts")["options"]["kv_type"], "q8")
        sentence = self.fails(2, "PAL-SESSION-06", "ask", "--session", "parts", "who?", "--kv-type", "f16")
        self.assertIn("q8", sentence)
        again = chat("wider", "one\ntwo\nthree\nfour\n", *begun[:-1], "f16")
        self.assertNotEqual(self.state("wider"), self.state("whole"))
        self.assertEqual(len(again["turns"]), 4)

    def test_a_session_keeps_the_form_of_its_checkpoints_until_another_is_given(self):
        forms = lambda: [state["form"] for state in self.document("sessions", "show", "one")["states"]]
        said = lambda: self.document("sessions", "show", "one")["options"].get("snapshot")
        chat = lambda name, *more: self.document("chat", "--session", name, "--max-tokens", "12", *more, stdin=b"who?\n")
        self.run_command("read", self.book, "--session", "one", "--model", SHIPPED, "--budget", "64", "--chunk", "16",
                         "--snapshot", "q8")
        self.assertEqual((set(forms()), said()), ({"q8"}, "q8"))
        self.assertEqual(chat("one")["form"], "q8")
        self.assertEqual((set(forms()), said()), ({"q8"}, "q8"))
        self.assertEqual(self.document("ask", "--session", "one", "who?", "--max-tokens", "4")["form"], "q8")
        self.assertEqual(chat("one", "--snapshot", "q4")["form"], "q4")
        self.assertEqual((forms(), said()), (["q4", "q8"], "q4"))
        self.assertIn(b"rounded to q4", self.run_command("sessions", "show", "one").stdout)
        # Two sessions that go on from one rounded checkpoint say the same.
        self.run_command("sessions", "fork", "one", "two")
        self.assertEqual(chat("one")["turns"], chat("two")["turns"])
        self.assertEqual(self.state("one"), self.state("two"))
        self.fails(2, "PAL-SESSION-06", "chat", "--session", "one", "--snapshot", "exact", "--budget", "999")
        self.assertEqual(said(), "q4")
        chat("one", "--snapshot", "exact")
        self.assertEqual((forms()[0], said()), ("exact", None))
        self.assertIn("q5", self.fails(2, "PAL-OPTION-01", "read", self.book, "--session", "one", "--snapshot", "q5"))
        self.fails(2, "PAL-OPTION-01", "summarize", self.book, "--snapshot", "q8")
        self.fails(2, "PAL-OPTION-01", "chat", "--no-save", "--snapshot", "q8")

    def test_a_preview_of_gc_says_what_it_then_does(self):
        begun = ["--model", SHIPPED, "--budget", "512"]
        for seed, name in enumerate(("old", "middle", "new")):
            self.run_command("read", self.file(name + ".txt", text(900, seed)), "--session", name, *begun)
        self.run_command("sessions", "fork", "old", "shares") # the blocks of "old" are freed with the last of both
        gc = lambda *more: self.document("sessions", "gc", "--max-size", "%d B" % self.wanted, *more)
        states = lambda name: self.document("sessions", "show", name)["states"]
        size = lambda: os.path.getsize(self.database)
        self.wanted = 1 << 40
        self.assertEqual(gc("--dry-run")["sessions"], [])
        whole = size()
        self.wanted = 1
        self.assertEqual(self.run_command("sessions", "gc", "--max-size", "1 B", "--dry-run", status=1).returncode, 1)
        self.assertEqual(len(states("old")), 1)
        self.wanted = whole - 100_000
        preview = gc("--dry-run")
        self.assertEqual(size(), whole)
        self.assertTrue(all(states(name) for name in ("old", "middle", "new", "shares")))
        names = [session["name"] for session in preview["sessions"]]
        self.assertEqual(names, ["old", "middle", "new", "shares"][:len(names)])
        self.assertIn(len(names), (1, 2, 3))
        self.assertLessEqual(preview["bytes"], self.wanted)
        done = gc()
        self.assertEqual((preview["preview"], done["preview"]), (True, False))
        self.assertEqual([preview[key] for key in ("sessions", "bytes")], [done[key] for key in ("sessions", "bytes")])
        self.assertEqual(size(), preview["bytes"])
        self.assertEqual([name for name in ("old", "middle", "new", "shares") if not states(name)], names)

    def test_cache_options_that_differ_from_the_sessions_are_refused(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        resolved = self.document("sessions", "show", "one")["options"]["policy"]
        for option, other, same in (("--budget", "128", "64"), ("--chunk", "32", "16"), ("--policy", "streaming", "treekv"),
                                    ("--positions", "original", "contiguous"), ("--kv-type", "f32", "f16"),
                                    ("--model", OTHER_MODEL, MODEL)):
            for command in (["ask", "--session", "one", "who?"], ["inspect", "--session", "one"],
                            ["chat", "--session", "one"], ["read", self.book, "--session", "one"]):
                sentence = self.fails(2, "PAL-SESSION-06", *command, option, other)
                for value in (option, other, same):
                    self.assertIn(value, sentence)
            self.run_command("ask", "--session", "one", "who?", "--max-tokens", "2", option, same)
        self.run_command("ask", "--session", "one", "who?", "--max-tokens", "2", "--kv-type", "auto", "--policy", "treekv")
        # Pins take slots that the policy would use, but change no option.
        self.run_command("chat", "--session", "one", "--pin", "3-9")
        for same in ("treekv", resolved):
            self.run_command("ask", "--session", "one", "who?", "--max-tokens", "2", "--policy", same)
        self.fails(2, "PAL-SESSION-06", "ask", "--session", "one", "who?", "--policy", "treekv:sinks=5")

    # -- backups ---------------------------------------------------------------------------------------------------

    def test_a_backup_is_restored_and_what_was_there_is_set_aside(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.run_command("chat", "--session", "one", "--max-tokens", "4", stdin=b"who?\n")
        before = self.state("one")
        copy = os.path.join(self.folder, "copy.db")
        told = self.document("sessions", "backup", copy)
        self.assertEqual((told["sessions"], told["bytes"]), (1, os.path.getsize(copy)))
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        self.fails(1, "PAL-DISK-03", "sessions", "backup", copy)
        self.run_command("chat", "--session", "two", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        names = lambda: sorted(s["name"] for s in self.document("sessions", "list")["sessions"])
        self.assertEqual(names(), ["one", "two"])
        restored = self.document("sessions", "restore", copy)
        self.assertEqual(names(), ["one"])
        self.assertEqual(self.state("one"), before)
        self.run_command("ask", "--session", "one", "who?", "--max-tokens", "4")
        self.assertEqual([n for n, in self.query("SELECT name FROM sessions ORDER BY name",
                                                 database=restored["set_aside"])], ["one", "two"])
        self.fails(3, "PAL-DB-00", "sessions", "restore", os.path.join(self.folder, "missing.db"))

    def test_a_damaged_database_is_restored_as_the_error_says(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        self.run_command("chat", "--session", "two", *SMALL, "--max-tokens", "4", stdin=b"hello\n")  # made the daily backup
        backups = [b["file"] for b in self.document("sessions", "restore", "--list")["backups"]]
        self.assertGreaterEqual(len(backups), 1)
        for ending in ("-wal", "-shm"):
            if os.path.exists(self.database + ending):
                os.remove(self.database + ending)
        with open(self.database, "r+b") as damaged:
            damaged.write(b"\0" * 8192)
        sentence = self.fails(1, "PAL-DB-03", "sessions", "list")
        self.assertIn("palimpsest sessions restore", sentence)
        self.assertIn(os.path.basename(backups[-1]), sentence)
        said = self.run_command("sessions", "restore").stderr.decode()
        self.assertIn("1 session is back", said)
        self.assertIn("what was there before is in", said)
        self.assertIn("one", [s["name"] for s in self.document("sessions", "list")["sessions"]])
        self.run_command("chat", "--session", "one", "--max-tokens", "4", stdin=b"and then?\n")

    def test_a_damaged_database_is_rescued_as_the_error_says(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        self.run_command("chat", "--session", "two", *SMALL, "--max-tokens", "4", stdin=b"good day\n")
        with open(self.database, "r+b") as damaged:
            content = damaged.read()
            damaged.seek(content.index(b"good day"))
            damaged.write(b"GOOD")
            damaged.seek(0)
            damaged.write(b"\0" * 8192)
        with open(self.database, "rb") as damaged:
            content = damaged.read()
        self.assertIn("palimpsest sessions rescue", self.fails(1, "PAL-DB-03", "sessions", "list"))
        told = self.document("sessions", "rescue", "--list")
        self.assertEqual((told["schema"], told["damaged"], told["sessions"], told["set_aside"], told["report"]),
                         ("palimpsest.rescue/1", True, 2, "", ""))
        self.fails(1, "PAL-DB-03", "sessions", "list")
        rescued = self.run_command("sessions", "rescue")
        self.assertIn("session 'two': 1 message is lost", rescued.stdout.decode())
        self.assertIn("2 sessions, 0 documents and 3 messages are rescued", rescued.stderr.decode())
        self.assertIn("Reading what can be rescued  ", rescued.stderr.decode())
        with open(re.search("what is lost is listed in (.*)", rescued.stderr.decode())[1]) as report:
            self.assertIn("session 'two': 1 message is lost\n", report.read())
        aside = rescued.stderr.decode().split("what was there before is in ")[1].strip()
        with open(aside, "rb") as kept:
            self.assertEqual(kept.read(), content)
        self.assertEqual([m["text"] for m in self.document("sessions", "show", "one")["messages"]][0], "hello")
        self.assertEqual(self.document("sessions", "show", "two")["messages"][0]["state"], "damaged")
        self.run_command("chat", "--session", "one", "--max-tokens", "4", stdin=b"and then?\n")
        refused = self.run_command("chat", "--session", "two", "--max-tokens", "4", stdin=b"and then?\n", status=1)
        self.assertIn("PAL-DB-03", refused.stderr.decode())

    def test_an_export_removes_what_killed_ones_left_of_the_same_file(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        self.run_command("library", "add", self.book, *SMALL[:2])
        for command in (["sessions", "export", "one"], ["sessions", "transcript", "one", "-o"], ["library", "export", "book"]):
            made = os.path.join(self.folder, command[0] + command[1])
            part = ".palimpsest-part-"
            names = [made + ending for ending in (part + "abcdef", part + "abcdef.db", part + "abcdef.db-wal", part + "ghijkl",
                                                  ".backup", ".part-abcdef", part + "mine.txt")]
            for name in names:
                self.file(os.path.basename(name), "")
            with open(names[3]) as living:
                fcntl.flock(living, fcntl.LOCK_EX)
                self.run_command(*command, made)
            self.assertEqual([os.path.exists(name) for name in names], [False] * 3 + [True] * 4, command)

    def test_a_database_without_damage_is_not_replaced_unasked(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        before = set(os.listdir(os.path.dirname(self.database)))
        for option in ([], ["--list"]):
            said = self.run_command("sessions", "rescue", *option)
            self.assertIn("nothing is damaged", said.stderr.decode())
            self.assertEqual(said.stdout, b"")
            self.assertEqual(set(os.listdir(os.path.dirname(self.database))), before)
        self.assertFalse(self.document("sessions", "rescue")["damaged"])
        said = self.run_command("sessions", "rescue", "--force").stderr.decode()
        self.assertIn("1 session, 0 documents and 2 messages are rescued", said)
        self.assertIn("what was there before is in ", said)
        self.assertNotIn("what is lost", said)
        self.environment["LC_ALL"] = "de_DE.UTF-8"
        self.assertIn("1 Sitzung, 0 Dokumente und 2 Nachrichten sind gerettet",
                      self.run_command("sessions", "rescue", "--force").stderr.decode())

    def test_a_file_of_another_program_stays_as_it_is_and_alone(self):
        place = os.path.join(self.folder, "elsewhere")
        os.mkdir(place)
        other = os.path.join(place, "places.db")
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE places(url TEXT)")
        os.chmod(other, 0o600)
        said = self.run_command("sessions", "rescue", "--db", other, status=1).stderr.decode()
        self.assertIn("PAL-DB-02", said)
        self.assertEqual(os.listdir(place), ["places.db"])

    def test_what_a_killed_rescue_left_is_named_with_its_size_and_removed(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        folder, part = self.database + ".rescue-AbC123", self.database + ".restoring"
        os.mkdir(folder)
        for name in (os.path.join(folder, "made.db"), part):
            with open(name, "w") as left:
                left.write("t" * 2048)
        told = self.document("sessions", "gc", "--max-size", "1TB", "--dry-run")
        self.assertEqual(told["left_overs"], [{"file": folder, "bytes": 2048}, {"file": part, "bytes": 2048}])
        self.assertEqual(told["unused_files"], [])
        self.assertFalse(os.path.exists(folder) or os.path.exists(part))
        os.mkdir(folder)
        said = self.run_command("sessions", "gc", "--max-size", "1TB").stderr.decode()
        self.assertIn("%s (0 B) was left by a program that was killed; it is removed" % folder, said)

    def test_the_files_of_a_rescue_that_runs_meanwhile_are_not_named_as_left_over(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        folder, lock = self.database + ".rescue-AbC123", self.database + ".lock"
        for preview in (["--dry-run"], []):
            with open(lock, "w") as rescue:  # which has made its folder, and ends before the others stop waiting
                fcntl.flock(rescue, fcntl.LOCK_EX)
                os.mkdir(folder)
                process = self.start("sessions", "gc", "--max-size", "1TB", "--json", *preview)
                files = "/proc/%d/fd" % process.pid
                wait_until(lambda: lock in [os.path.realpath(os.path.join(files, name)) for name in os.listdir(files)])
                self.assertTrue(os.path.exists(folder))
                os.rmdir(folder)
            told, said = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, said)
            self.assertEqual(json.loads(told)["left_overs"], [])

    def test_a_rescue_tells_how_far_it_is_in_events(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        rescued = self.run_command("sessions", "rescue", "--force", "--json", "--events")
        self.assertEqual(json.loads(rescued.stdout)["sessions"], 1)
        events = [json.loads(line) for line in rescued.stderr.splitlines()]
        self.assertEqual({(event["event"], event["text"]) for event in events}, {("work", "Reading what can be rescued")})
        percents = [event["percent"] for event in events]
        self.assertEqual(percents, sorted(set(percents)))
        self.assertEqual((percents[0], percents[-1]), (0, 99))
        told = self.run_command("sessions", "rescue", "--list", "--events").stderr.splitlines()[-1]
        self.assertEqual(json.loads(told), {"event": "note", "text": "nothing is damaged, and nothing was changed; --force makes "
                                            "a new database all the same"})

    def test_a_rescue_that_is_interrupted_changes_nothing(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        with open(self.database, "rb") as database:
            before = database.read()
        files = set(os.listdir(os.path.dirname(self.database)))

        def takes_interrupts():
            with open("/proc/%d/status" % process.pid) as status:
                return not int(re.search(r"ShdPnd:\s*(\w+)", status.read())[1], 16) & 1 << (signal.SIGINT - 1)

        shown, stderr = self.full_pipe()
        process = self.start("sessions", "rescue", "--force", stderr=stderr)  # waits when it shows how far it is
        os.close(stderr)
        wait_until(lambda: any(".rescue-" in name for name in os.listdir(os.path.dirname(self.database))))
        process.send_signal(signal.SIGINT)
        wait_until(takes_interrupts)
        with open(shown, "rb") as rest:
            said = rest.read().decode()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("nothing was changed", said)
        with open(self.database, "rb") as database:
            self.assertEqual(database.read(), before)
        self.assertEqual(set(os.listdir(os.path.dirname(self.database))), files)

    @staticmethod
    def full_pipe():
        shown, stderr = os.pipe()
        os.set_blocking(stderr, False)
        try:
            while True:
                os.write(stderr, b" ")
        except BlockingIOError:
            os.set_blocking(stderr, True)
        return shown, stderr

    def test_without_a_backup_nothing_is_restored(self):
        self.fails(3, "PAL-DB-00", "sessions", "restore")
        self.assertEqual(self.document("sessions", "restore", "--list")["backups"], [])

    def test_unreadable_settings_are_reported(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "2", stdin=b"hi\n")
        for options in ('{"budget": "x"}', '{"model": 5}', "no json", '{"temperature": {}}'):
            with sqlite3.connect(os.path.join(self.folder, "palimpsest", "palimpsest.db")) as database:
                database.execute("UPDATE sessions SET options = ?", (options,))
            self.fails(1, "PAL-DB-03", "ask", "--session", "one", "who?")
            self.assertEqual(self.document("sessions", "show", "one")["messages"][0]["text"], "hi")

    def test_stored_sessions_are_compared(self):
        for name, policy in (("tree", "treekv"), ("far, far away", "streaming")):
            self.run_command("read", self.book, "--session", name, *SMALL, "--policy", policy)
        self.run_command("sessions", "fork", "tree", "talk")
        self.run_command("chat", "--session", "talk", "--max-tokens", "8", stdin=b"who?\n")
        names = ["tree", "far, far away", "talk"]
        result = self.document("compare", "--session", "tree", "--session", names[1], "--session", "talk")
        self.assertEqual([r["session"] for r in result["results"]], names)
        maps = [self.kept(name) for name in names]
        self.assertEqual([r["heads"] for r in result["results"]], maps)
        triples = [{(h["layer"], h["head"], t) for h in kept for t in h["tokens"]} for kept in maps]
        for entry in result["overlaps"]:
            a, b = triples[entry["a"]], triples[entry["b"]]
            self.assertAlmostEqual(entry["overlap"], len(a & b) / len(a | b))
        self.assertEqual(len(result["overlaps"]), 3)
        whole = self.document("compare", self.book, "--policies", "treekv", *SMALL)
        self.assertEqual(set(result["results"][0]), set(whole["results"][0]) | {"session"})
        self.assertEqual(result["results"][0]["memory"], self.document("inspect", "--session", "tree")["memory"])
        self.assertEqual(result["coverage"]["tokens_read"], result["coverage"]["tokens_in_input"])
        shown = self.run_command("compare", "--session", "tree,talk").stdout.decode()
        self.assertIn("overlap of the kept sets", shown)
        self.assertRegex(shown, r"(?m)^talk +64 +- +- ")

        # Only sessions with the same documents can be compared.
        self.run_command("read", self.file("other.txt", text(SHORT, 2)), "--session", "other", *SMALL)
        self.fails(2, "PAL-SESSION-07", "compare", "--session", "tree,other")
        self.run_command("chat", "--session", "empty", *SMALL)
        self.fails(2, "PAL-SESSION-07", "compare", "--session", "empty,tree")
        self.fails(3, "PAL-SESSION-01", "compare", "--session", "tree,tre")
        for arguments in (["--session", "tree"], ["--session", "tree,talk", self.book], [self.book]):
            self.fails(2, "PAL-OPTION-01", "compare", *arguments)

    # -- pins ------------------------------------------------------------------------------------------------------

    def pins(self, session):
        return self.document("inspect", "--session", session)["pins"]

    def test_pinned_passages_stay_and_are_pinned_again_when_all_is_read_again(self):
        words = text(SHORT, 1).split()
        passage = " ".join(words[400:412])
        pinned = self.document("read", self.book, "--session", "one", *SMALL, "--pin", passage, "--pin", "1-3")["pins"]
        self.assertEqual([r["held"] for r in pinned["ranges"]], [1, 1])
        self.assertEqual((pinned["ranges"][0]["first"], pinned["ranges"][0]["last"]), (1, 3))
        self.assertLess(pinned["tokens"], 60)
        # Pins added later, in a chat: evicted tokens stay evicted, kept tokens stay kept.
        self.run_command("chat", "--session", "one", "--pin", "3000-3003", "--max-tokens", "20",
                         stdin=b"who wrote?\nand then?\n")
        kept, pins = self.kept("one"), self.pins("one")
        self.assertEqual(len(pins["ranges"]), 3)
        for head in kept:
            self.assertTrue({1, 2, 3} <= set(head["tokens"]))
            self.assertLessEqual(len(head["tokens"]), 64)
        self.run_command("sessions", "fork", "one", "two")
        self.run_command("sessions", "export", "one", os.path.join(self.folder, "one.palimpsest"))
        self.run_command("sessions", "import", os.path.join(self.folder, "one.palimpsest"), "--name", "three")
        self.run_command("sessions", "strip", "one")
        for session in ["one", "two", "three"]:
            self.assertEqual(self.pins(session), pins)
            self.assertEqual(self.kept(session), kept)

    def test_an_impossible_pin_is_refused_and_creates_no_session(self):
        self.fails(3, "PAL-PIN-03", "read", self.book, "--session", "one", *SMALL, "--pin", "no such words")
        self.fails(2, "PAL-PIN-01", "read", self.book, "--session", "one", *SMALL, "--pin", "0-63")
        self.fails(2, "PAL-PIN-02", "read", self.book, "--session", "one", *SMALL, "--pin", "9-3")
        for command in (["read", self.book, "--session", "one"], ["ask", self.book, "who?"], ["inspect", self.book],
                        ["compare", self.book, "--policies", "streaming"], ["eval", "ppl", self.book]):
            self.assertRegex(self.fails(2, "PAL-PIN-02", *command, *SMALL, "--pin", "999999-1000000"),
                             r"'999999-1000000' is behind the end of .* \([\d,]+ tokens\)")
        self.assertEqual(self.document("sessions", "list")["sessions"], [])
        self.document("read", self.book, "--session", "one", *SMALL)
        self.fails(2, "PAL-PIN-02", "chat", "--session", "one", "--pin", "999999")
        self.fails(2, "PAL-PIN-04", "ask", "--session", "one", "who?", "--pin", "0-3")
        self.fails(2, "PAL-PIN-04", "inspect", "-", *SMALL, "--pin", "the keeper")

    def test_a_chat_of_which_nothing_was_read_takes_pins_of_what_will_follow(self):
        self.run_command("chat", "--session", "new", *SMALL, "--max-tokens", "4", "--pin", "0-5", stdin=b"hello there\n")
        self.assertEqual([(r["first"], r["last"]) for r in self.pins("new")["ranges"]], [(0, 5)])

    def test_a_pin_that_reaches_beyond_the_text_is_cut_at_its_end(self):
        tokens = self.document("read", self.book, "--session", "one", *SMALL)["tokens_seen"]
        pin = ["--pin", "%d-%d" % (tokens - 3, tokens + 5000)]
        for command in (["read", self.book, "--session", "two"], ["chat", "--session", "one"]):
            said = self.run_command(*command, *SMALL, *pin).stderr.decode()
            self.assertEqual(said.count("reaches beyond the end of the text"), 1, said)
            self.assertEqual(self.pins(command[-1])["ranges"][0]["last"], tokens - 1)
        for command in (["ask", self.book, "who?", "--max-tokens", "2"], ["inspect", self.book]):
            said = self.run_command(*command, *SMALL, *pin).stderr.decode()
            self.assertEqual(said.count("reaches beyond the end of the text"), 1, said)

    # -- what is stored --------------------------------------------------------------------------------------------

    def test_sessions_are_listed_renamed_copied_moved_and_deleted(self):
        self.run_command("read", self.book, "--session", "a", *SMALL)
        self.run_command("chat", "--session", "a", *SMALL, "--max-tokens", "8", stdin=b"who?\n")
        self.run_command("sessions", "rename", "a", "moby")
        self.fails(3, "PAL-SESSION-01", "sessions", "show", "mobi")
        self.run_command("sessions", "fork", "moby", "copy")
        self.fails(2, "PAL-SESSION-02", "sessions", "fork", "moby", "copy")
        self.assertEqual(self.kept("copy"), self.kept("moby"))
        self.assertEqual({s["name"] for s in self.document("sessions", "list")["sessions"]}, {"moby", "copy"})

        exported = os.path.join(self.folder, "moby.palimpsest")
        self.run_command("sessions", "export", "moby", exported)
        self.fails(1, "PAL-DISK-03", "sessions", "export", "moby", exported)
        self.assertEqual(os.listdir(self.folder).count("moby.palimpsest.lock"), 0)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        self.assertEqual(self.document("sessions", "import", exported, *elsewhere)["name"], "moby")
        self.assertEqual(self.document("sessions", "import", exported, *elsewhere)["name"], "moby")
        self.assertEqual(len(self.document("sessions", "list", *elsewhere)["sessions"]), 1, "it was imported before")
        self.fails(2, "PAL-SESSION-02", "sessions", "import", exported)
        self.run_command("sessions", "verify", "moby", *elsewhere)
        here, there = self.document("sessions", "show", "moby"), self.document("sessions", "show", "moby", *elsewhere)
        self.assertEqual(here["messages"], there["messages"])
        self.assertEqual(self.document("inspect", "--session", "moby", "--model", MODEL, *elsewhere)["heads"],
                         self.kept("moby"))
        self.fails(1, "PAL-DB-02", "sessions", "import", self.book)

        self.run_command("sessions", "strip", "copy")
        self.assertEqual(self.document("sessions", "show", "copy")["states"], [])
        self.assertEqual(len(self.document("sessions", "show", "copy")["messages"]), 2)
        self.run_command("sessions", "rm", "moby")
        self.run_command("sessions", "rm", "copy")
        self.assertEqual(self.document("sessions", "list")["sessions"], [])
        with open(os.path.join(self.folder, "palimpsest", "palimpsest.db"), "rb") as file:
            self.assertNotIn(b"who?", file.read())

    def test_an_export_is_read_anew_where_its_cache_cannot_be_used_and_a_refusal_leaves_nothing(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        exported = os.path.join(self.folder, "one.palimpsest")
        self.run_command("sessions", "export", "one", exported)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        names = lambda: sorted(s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"])
        read = ["read", exported, *elsewhere, "--session"]
        self.fails(2, "PAL-POLICY-01", *read, "bad", "--model", MODEL, "--policy", "no-such-policy")
        self.assertEqual(names(), [])
        other = self.run_command(*read, "other", "--model", MODEL, "--budget", "48", "--chunk", "16")
        self.assertIn("its text is read anew", other.stderr.decode())
        self.assertEqual(names(), ["one", "other"])
        shown = self.document("sessions", "show", "other", *elsewhere)
        self.assertEqual(shown["tokens"], self.document("sessions", "show", "one")["tokens"])
        self.fails(2, "PAL-POLICY-01", *read, "bad", "--model", MODEL, "--policy", "no-such-policy")
        self.assertEqual(names(), ["one", "other"])
        same = self.run_command(*read, "same", "--model", MODEL, *SMALL[2:])
        self.assertNotIn("anew", same.stderr.decode())
        self.assertEqual(names(), ["one", "other", "same"])

    def test_no_command_that_is_refused_leaves_an_import(self):
        gift, _ = self.export()
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        names = lambda: [s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]]
        for command in (["ask", gift, "who?"], ["summarize", gift], ["chat", gift]):
            for code, refused in (("PAL-POLICY-01", ["--policy", "no-such-policy"]), ("PAL-SESSION-06", ["--budget", "63"]),
                                  ("PAL-SESSION-06", ["--budget", "63", "--session", "two"]),
                                  ("PAL-OPTION-11", ["--simd", "none"])):
                sentence = self.fails(2, code, *command, *refused, *elsewhere)
                self.assertNotIn("imported", sentence)
                self.assertEqual(names(), [])
        for command in (["ask", gift, "who?"], ["summarize", gift], ["chat", gift]):
            self.run_command(*command, "--max-tokens", "2", *elsewhere)
            self.fails(2, "PAL-SESSION-06", *command, "--budget", "63", *elsewhere)
            self.assertEqual(names(), ["one"], "what was imported before stays")

    def test_a_session_that_has_gone_on_since_its_import_says_so(self):
        gift, _ = self.export()
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        said = lambda *command: self.run_command(*command, "--max-tokens", "2", *elsewhere, stdin=b"who?\n").stderr.decode()
        self.assertIn("is imported as the session 'one'", said("chat", gift))
        note = "note: the session 'one' has gone on since it was imported; to have what %s holds: " \
               "palimpsest sessions import %s --name OTHER" % (gift, gift)
        for command in (["ask", gift, "who?"], ["summarize", gift], ["chat", gift]):
            self.assertIn(note, said(*command))
        self.run_command("sessions", "import", gift, "--name", "other", *elsewhere)
        self.assertNotIn("gone on", said("ask", "--session", "other", "who?"))
        self.assertNotIn("gone on", said("ask", gift, "who?", "--session", "other"))

    def test_an_export_is_read_with_pins_and_its_stripped_session_under_its_own_name(self):
        gift, _ = self.export()
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        read = self.document("read", gift, "--session", "mine", "--pin", "10-19", *elsewhere)
        self.assertEqual([(p["first"], p["last"]) for p in read["pins"]["ranges"]], [(10, 19)])
        self.fails(3, "PAL-PIN-03", "read", gift, "--session", "bad", "--pin", "no such words", *elsewhere)
        self.fails(3, "PAL-PIN-03", "chat", gift, "--pin", "no such words", *elsewhere)
        self.run_command("sessions", "strip", "mine", *elsewhere)
        again = self.document("read", gift, "--session", "mine", "--pin", "20-29", *elsewhere)
        self.assertEqual(again["tokens_seen"], read["tokens_seen"])
        self.assertEqual(len(again["pins"]["ranges"]), 1, "10-19 and 20-29")
        more = self.document("read", gift, "--session", "mine", "--pin", "40-49", *elsewhere)
        self.assertEqual(len(more["pins"]["ranges"]), 2)
        self.assertEqual(len(again["pins"]["ranges"]), 1)
        self.assertEqual([s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]], ["mine"])

    def test_an_export_without_a_cache_says_that_there_is_none(self):
        self.export()
        self.run_command("sessions", "strip", "one")
        bare = os.path.join(self.folder, "bare.palimpsest")
        told = self.run_command("sessions", "export", "one", bare)
        self.assertIn(b", cache: nothing, in all ", told.stderr)
        os.remove(bare)
        told = self.document("sessions", "export", "one", bare)
        self.assertEqual((told["form"], told["cache_bytes"]), (None, 0))

    def test_an_export_without_a_cache_is_read_by_every_command_and_with_a_pin_at_its_end(self):
        self.run_command("read", self.book, "--session", "one", *BEGUN)
        tokens = self.document("sessions", "show", "one")["tokens"]
        self.run_command("chat", "--session", "one", "--pin", "%d-%d" % (tokens - 9, tokens - 1), "--max-tokens", "1", stdin=b"")
        self.run_command("sessions", "strip", "one")
        bare = os.path.join(self.folder, "bare.palimpsest")
        self.run_command("sessions", "export", "one", bare)
        for command in (["read", "--session", "mine"], ["summarize", "--max-tokens", "2"], ["chat", "--max-tokens", "2"]):
            elsewhere = ["--db", os.path.join(self.folder, command[0] + ".db")]
            told = self.document(command[0], bare, *command[1:], *elsewhere, stdin=b"who?\n")
            self.assertEqual(told["coverage"]["tokens_read"], told["coverage"]["tokens_in_input"])

    def test_what_is_fed_of_an_export_without_a_cache_is_kept(self):
        self.export()
        self.run_command("sessions", "strip", "one")
        bare = os.path.join(self.folder, "bare.palimpsest")
        self.run_command("sessions", "export", "one", bare)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        ask = lambda *more: self.document("ask", bare, "who?", "--max-tokens", "4", "--session", "mine", *elsewhere, *more)
        self.fails(2, "PAL-SESSION-06", "ask", bare, "who?", "--budget", "63", *elsewhere)
        self.assertEqual(self.document("sessions", "list", *elsewhere)["sessions"], [])
        first = ask()
        self.assertGreaterEqual(first["tokens_fed_again"], first["coverage"]["tokens_read"])
        again = ask()
        self.assertEqual((again["tokens_fed_again"], again["answers"][0]["text"]), (0, first["answers"][0]["text"]))
        read = self.document("read", bare, "--session", "mine", *elsewhere)
        self.assertEqual(read["coverage"]["tokens_read"], first["coverage"]["tokens_read"])
        self.assertEqual([s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]], ["mine"])

    def test_an_export_with_settings_that_cannot_be_read_is_text(self):
        for number, options in enumerate(('{"budget": "x"}', '{"model": 5}', "no json")):
            with self.subTest(options=options):
                if number == 0: self.export()
                gift = os.path.join(self.folder, "gift %d" % number)
                self.run_command("sessions", "export", "one", gift)
                with sqlite3.connect(gift) as exported:
                    exported.execute("UPDATE sessions SET options = ?", (options,))
                elsewhere = ["--db", os.path.join(self.folder, "elsewhere %d.db" % number)]
                for _ in range(2):
                    sentence = self.fails(1, "PAL-DB-03", "ask", gift, "who?", *elsewhere)
                    self.assertIn("its settings cannot be read; its text can be shown and searched", sentence)
                    self.assertIn("palimpsest read '%s' --session OTHER" % gift, sentence)
                self.assertEqual([s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]], ["one"])
                self.assertIn(b"book", self.run_command("find", "keeper of light", "--words", *elsewhere).stdout)
                read = self.run_command("read", gift, "--session", "anew", *BEGUN, *elsewhere)
                self.assertIn(b"because its settings cannot be read: its text is read anew", read.stderr)
                imported = self.run_command("sessions", "import", gift, "--name", "third", *elsewhere)
                self.assertIn(b"its settings cannot be read; its text can be shown and searched", imported.stderr)

    def test_a_question_to_an_export_that_was_imported_waits_for_no_writer(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        exported = os.path.join(self.folder, "one.palimpsest")
        self.run_command("sessions", "export", "one", exported)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        self.run_command("sessions", "import", exported, *elsewhere)
        owner = self.owner_of(*elsewhere)
        self.run_command("ask", exported, "who?", "--model", MODEL, "--max-tokens", "4", *elsewhere)
        self.assertIsNone(owner.poll())
        owner.communicate(timeout=PATIENCE)
        self.assertEqual(owner.returncode, 0)

    def owner_of(self, *elsewhere):
        """A chat that writes the database until its input ends."""
        owner = self.start("chat", "--session", "two", *SMALL, *elsewhere, "--max-tokens", "8", "--events")
        owner.stdin.write(b"hello\n")
        owner.stdin.flush()
        while json.loads(owner.stderr.readline())["event"] != "checkpoint":
            pass
        return owner

    def test_a_question_to_an_export_without_a_cache_says_at_once_that_nothing_is_kept_while_another_writes(self):
        self.export()
        self.run_command("sessions", "strip", "one")
        bare = os.path.join(self.folder, "bare.palimpsest")
        self.run_command("sessions", "export", "one", bare)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        self.run_command("sessions", "import", bare, *elsewhere)
        owner = self.owner_of(*elsewhere)
        asked = self.run_command("ask", bare, "who?", "--reread", "never", "--max-tokens", "4", *elsewhere)
        self.assertIn(b"note: waiting for another Palimpsest (process %d), which is writing the sessions\n" % owner.pid, asked.stderr)
        self.assertIn(b"note: its text is read for this answer only, because what is read cannot be saved: sessions: they are "
                      b"open for writing in another Palimpsest (process %d)" % owner.pid, asked.stderr)
        self.assertIsNone(owner.poll())
        owner.communicate(timeout=PATIENCE)
        self.assertEqual(self.document("sessions", "show", "one", *elsewhere)["states"], [])
        told = self.document("ask", bare, "who?", "--reread", "never", "--max-tokens", "4", *elsewhere)
        self.assertGreater(told["tokens_fed_again"], 0)
        self.assertEqual(len(self.document("sessions", "show", "one", *elsewhere)["states"]), 1)

    def test_a_question_to_an_export_that_must_be_imported_says_at_once_for_whom_it_waits(self):
        gift, _ = self.export()
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        owner = self.owner_of(*elsewhere)
        asked = self.start("ask", gift, "who?", "--max-tokens", "4", *elsewhere)
        self.assertEqual(asked.stderr.readline(), b"note: waiting for another Palimpsest (process %d), which is writing the "
                                                  b"sessions\n" % owner.pid)
        owner.communicate(timeout=PATIENCE)
        asked.communicate(timeout=PATIENCE)
        self.assertIn(asked.returncode, (0, 5))  # 5: the chat took longer to end than the question waits

    def test_an_export_says_how_many_damaged_notes_and_names_it_does_not_have_as_they_were(self):
        self.export()
        with sqlite3.connect(self.database) as database:
            database.execute("INSERT INTO sections(document, idx, title, first_token, first_byte) SELECT id, 99, "
                             "CAST(X'62FF' AS TEXT), 0, 0 FROM documents")
            database.execute("INSERT INTO notes(session, document, first_token, end_token, first_byte, end_byte, section, "
                             "origin, repeats, text, refused, tokens, seconds, hash) SELECT sessions.id, documents.id, 0, 1, 0, "
                             "1, -1, 0, 0, 'x', '', 1, 0, 1 FROM sessions, documents")
        gift = os.path.join(self.folder, "second")
        told = self.run_command("sessions", "export", "one", gift).stderr
        self.assertIn(b"note: damaged notes that were left out of the file: 1\n", told)
        self.assertIn(b"note: titles and names in which characters that are not UTF-8 were replaced in the file: 1\n", told)
        third = self.document("sessions", "export", "one", os.path.join(self.folder, "third"))
        self.assertEqual([third[name] for name in ("notes", "damaged_notes", "damaged_sources", "mended_names")], [0, 1, 0, 1])
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        self.assertEqual(self.document("sessions", "import", gift, *elsewhere)["name"], "one")

    def test_an_export_is_shown_beside_a_damaged_database(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "4", stdin=b"hello\n")
        exported = os.path.join(self.folder, "one.palimpsest")
        self.run_command("sessions", "export", "one", exported)
        damaged = os.path.join(self.folder, "damaged.db")
        with open(damaged, "wb") as file:
            file.write(b"SQLite format 3\0" + b"x" * 8192)
        self.assertEqual(self.document("sessions", "show", exported, "--db", damaged)["name"], "one")

    def test_transcripts_are_written_in_three_formats_without_markup_of_messages(self):
        foreign = "Who? <script>alert(1)</script> [x](javascript:alert(2)) ]]> & \u202ereversed"
        self.run_command("chat", self.book, "--session", "talk & <b>", *SMALL, "--max-tokens", "4",
                         stdin=(foreign + "\n").encode())
        write = ("sessions", "transcript", "talk & <b>")

        page = self.run_command(*write, "--format", "html").stdout.decode()
        tags, references, shown = [], [], []

        class Reader(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                tags.append(tag)
                references.extend(value for name, value in attributes if name in ("href", "src", "action", "style"))

            def handle_data(self, text):
                shown.append(text)

        Reader().feed(page)
        self.assertNotIn("script", tags)
        self.assertNotIn("b", tags)
        self.assertEqual(references, [])
        self.assertNotIn("\u202e", page)
        self.assertIn("talk & <b>", shown)
        self.assertIn(foreign.replace("\u202e", "\\u{202e}"), shown)
        self.assertNotIn("url(", page)

        markdown = self.run_command(*write).stdout.decode()
        self.assertIn("\\<script>alert(1)\\</script> \\[x\\](javascript", markdown)
        self.assertNotIn("\u202e", markdown)

        data = self.run_command(*write, "--json").stdout.decode()
        self.assertNotIn("\u202e", data)
        document = json.loads(data)
        self.assertEqual(document["schema"], "palimpsest.transcript/1")
        self.assertEqual([(m["role"], m["state"]) for m in document["messages"]],
                         [("user", "complete"), ("assistant", "cut")])
        self.assertEqual(document["messages"][0]["text"], foreign)
        self.assertEqual((document["budget"], document["documents"][0]["title"]), ("64", "book"))

    def test_a_transcript_replaces_no_file_unless_it_is_told_to(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        out = os.path.join(self.folder, "one.html")
        write = ("sessions", "transcript", "one", "-o", out)
        self.run_command(*write)
        with open(out) as written:
            self.assertTrue(written.read().startswith("<!DOCTYPE html>"))  # by its ending
        self.assertEqual(os.stat(out).st_mode & 0o777, 0o600)
        self.file("one.html", "mine")
        self.fails(1, "PAL-DISK-03", *write)
        with open(out) as kept:
            self.assertEqual(kept.read(), "mine")
        self.run_command(*write, "--force", "--format", "json")
        with open(out) as written:
            self.assertEqual(json.load(written)["name"], "one")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("one.")], ["one.html"])
        self.fails(3, "PAL-SESSION-01", "sessions", "transcript", "two")

    def export(self, *options):
        self.run_command("read", self.book, "--session", "one", *BEGUN)
        gift = os.path.join(self.folder, "gift")
        told = self.document("sessions", "export", "one", gift, *options)
        self.assertEqual((told["documents"], told["messages"], told["bytes"]), (1, 0, os.path.getsize(gift)))
        os.chmod(gift, 0o400)
        return gift, told

    def test_an_exported_book_is_asked_at_once_on_another_machine(self):
        gift, _ = self.export()
        with open(gift, "rb") as file:
            content = file.read()
        here = self.document("ask", "--session", "one", "who?", "--max-tokens", "4")
        os.remove(self.book)
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        for command, question in (("ask", ["who?"]), ("summarize", [])):
            there = self.document(command, gift, *question, "--max-tokens", "4", *elsewhere)
            self.assertEqual(there["tokens_fed_again"], 0)
            self.assertEqual(there["documents"], ["book.txt"])
            if command == "ask":
                self.assertEqual(there["answers"][0]["text"], here["answers"][0]["text"])
        turns = self.document("chat", gift, "--max-tokens", "4", *elsewhere, stdin=b"who?\n")["turns"]
        self.assertEqual(len(turns), 1)
        self.assertEqual([s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]], ["one"])
        read = self.document("read", gift, "--session", "mine", *elsewhere)
        self.assertEqual((read["tokens_fed_again"], read["coverage"]["tokens_read"]), (0, there["coverage"]["tokens_read"]))
        with open(gift, "rb") as file:
            self.assertEqual(file.read(), content)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("gift")], ["gift"])

    def test_an_export_is_rounded_on_request_and_says_so(self):
        gift, exact = self.export()
        small = os.path.join(self.folder, "small.palimpsest")
        result = self.run_command("sessions", "export", "one", small, "--snapshot", "q4")
        self.assertIn(b"rounded to q4 in the file: answers may differ", result.stderr)
        self.assertIn(b"(q4)", result.stderr)
        self.assertLess(os.path.getsize(small), exact["bytes"])
        self.assertEqual(self.document("sessions", "show", "one")["states"][0]["form"], "exact")
        self.assertEqual(self.document("sessions", "show", small)["states"][0]["form"], "q4")
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        answer = self.run_command("ask", small, "who?", "--max-tokens", "4", *elsewhere)
        self.assertIn(b"rounded to q4 when it was saved", answer.stderr)

    def test_an_export_without_its_model_is_text_that_another_model_reads(self):
        gift, _ = self.export()
        elsewhere = ["--db", os.path.join(self.folder, "elsewhere.db")]
        shown = self.document("sessions", "show", gift, *elsewhere)
        self.assertEqual(shown["documents"][0]["source"], "book.txt")
        self.assertFalse(os.path.exists(elsewhere[1]), "looking at it stores nothing")
        other = ["--model", OTHER_MODEL]
        for command in (["ask", gift, "who?"], ["summarize", gift], ["chat", gift]):
            sentence = self.fails(1, "PAL-SNAP-02", *command, *other, *elsewhere)
            self.assertIn("palimpsest read '%s' --session OTHER" % gift, sentence)
        self.assertIn(b"book", self.run_command("find", "keeper of light", "--words", *elsewhere).stdout)
        read = self.document("read", gift, "--session", "anew", "--budget", "64", "--chunk", "16", *other, *elsewhere)
        self.assertEqual(read["coverage"]["tokens_read"], read["coverage"]["tokens_in_input"])
        self.assertEqual({s["name"] for s in self.document("sessions", "list", *elsewhere)["sessions"]}, {"one", "anew"})

    def test_an_export_is_given_alone_and_never_taken_for_text(self):
        gift, _ = self.export()
        self.fails(2, "PAL-OPTION-01", "summarize", gift, self.book)
        self.fails(2, "PAL-OPTION-01", "ask", gift, "who?", "--no-save")
        cut = os.path.join(self.folder, "cut.palimpsest")
        with open(gift, "rb") as file:
            content = file.read()
        for length in (len(content) // 2, 50):
            with open(cut, "wb") as file:
                file.write(content[:length])
            for command in (["chat", cut], ["ask", cut, "who?"], ["sessions", "import", cut], ["sessions", "show", cut]):
                self.fails(1, "PAL-DB-03", *command)
        self.assertEqual([s["name"] for s in self.document("sessions", "list")["sessions"]], ["one"])

    def test_an_export_with_a_wrong_block_hash_is_refused(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        file = os.path.join(self.folder, "one.palimpsest")
        self.run_command("sessions", "export", "one", file)
        with sqlite3.connect(file) as exported:
            exported.execute("UPDATE blocks SET hash = randomblob(16)")
        self.fails(1, "PAL-SNAP-03", "sessions", "import", file, "--name", "two")
        self.assertEqual([s["name"] for s in self.document("sessions", "list")["sessions"]], ["one"])
        self.run_command("sessions", "verify", "one")

    def test_gc_refuses_a_size_below_that_of_the_text(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.fails(1, "PAL-DB-08", "sessions", "gc", "--max-size", "0.001MB")
        freed = self.run_command("sessions", "gc", "--max-size", "0.001MB", "--json", status=1)
        self.assertGreater(json.loads(freed.stdout)["bytes"], 1000)
        self.assertEqual(json.loads(freed.stderr)["code"], "PAL-DB-08")

    def test_one_process_writes_while_others_read(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        owner = self.owner_of()
        sentence = self.fails(5, "PAL-DB-07", "read", self.book, "--session", "three", *SMALL)
        self.assertIsNone(owner.poll())  # the second writer gave up before the owner ended
        self.assertIn("process %d" % owner.pid, sentence)
        self.assertEqual({s["name"] for s in self.document("sessions", "list")["sessions"]}, {"one", "two"})
        self.run_command("ask", "--session", "one", "who?", "--max-tokens", "4")
        owner.communicate(timeout=PATIENCE)
        self.assertEqual(owner.returncode, 0)

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def test_a_question_to_a_stripped_session_reads_its_document_again(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        ask = lambda *more: self.document("ask", "--session", "one", "who?", "--max-tokens", "8", *more)
        before = ask()
        self.run_command("sessions", "strip", "one")
        again = ask("--recompute")
        self.assertEqual(again["answers"], before["answers"])
        self.assertEqual(again["coverage"], before["coverage"])
        self.assertGreaterEqual(again["tokens_fed_again"], before["coverage"]["tokens_read"])

    def test_a_checkpoint_of_another_model_is_refused_and_the_text_can_be_read_again(self):
        model = os.path.join(self.folder, "model.gguf")
        shutil.copy(MODEL, model)
        self.run_command("read", self.book, "--session", "one", "--model", model, *SMALL[2:])
        shutil.copy(OTHER_MODEL, model)
        self.assertIn("--model", self.fails(1, "PAL-SNAP-02", "ask", "--session", "one", "who?"))
        self.run_command("sessions", "fork", "one", "stripped")
        self.run_command("sessions", "strip", "stripped")
        self.fails(1, "PAL-SNAP-02", "ask", "--session", "stripped", "who?")
        self.assertEqual(self.document("sessions", "show", "one")["documents"][0]["source"], self.book)
        shutil.copy(MODEL, model)
        self.run_command("ask", "--session", "one", "who?", "--max-tokens", "4")

    def test_a_model_that_was_moved_is_found_by_its_fingerprint(self):
        model = os.path.join(self.folder, "first.gguf")
        shutil.copy(MODEL, model)
        self.run_command("read", self.book, "--session", "one", "--model", model, *SMALL[2:])
        expected = self.kept("one")
        models = os.path.join(self.folder, "palimpsest", "models")
        os.makedirs(models, exist_ok=True)
        shutil.copy(OTHER_MODEL, os.path.join(models, "first.gguf"))  # of the same name, but another one
        shutil.move(model, os.path.join(models, "second.gguf"))
        self.assertEqual(self.kept("one"), expected)

    def test_an_older_checkpoint_replaces_a_damaged_one(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "8", stdin=b"who?\n")
        expected = self.kept("one")
        with sqlite3.connect(os.path.join(self.folder, "palimpsest", "palimpsest.db")) as database:
            database.execute("UPDATE snapshots SET header = zeroblob(length(header)) WHERE id = (SELECT max(id) FROM snapshots)")
        result = self.run_command("inspect", "--session", "one", "--json")
        self.assertIn(b"an older one is used", result.stderr)
        self.assertEqual(json.loads(result.stdout)["heads"], expected)
        self.assertEqual(self.run_command("sessions", "verify", "one", status=1).stdout, b"")

    def test_without_an_intact_checkpoint_the_text_is_read_again_on_request(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        expected = self.kept("one")
        with sqlite3.connect(os.path.join(self.folder, "palimpsest", "palimpsest.db")) as database:
            database.execute("UPDATE snapshots SET header = zeroblob(length(header))")
        sentence = self.fails(1, "PAL-SNAP-03", "ask", "--session", "one", "who?")
        self.assertRegex(sentence, "--recompute to read its [0-9,]+ tokens again, about [0-9]+ s")
        self.assertEqual(sentence.count("again"), 1, "one remedy, not two")
        self.assertEqual(self.document("sessions", "show", "one")["documents"][0]["source"], self.book)
        self.run_command("read", self.book, "--session", "one", "--recompute")
        self.assertEqual(self.kept("one"), expected)

    def test_another_simd_target_goes_on_from_the_checkpoint_and_says_so_once(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        here = self.document("ask", self.book, "who?", *SMALL, "--max-tokens", "2")["backend"]["simd"]
        other = next((simd for simd in self.simd_targets() if simd != here), None)
        if not other:
            self.skipTest("one SIMD target only")
        note = "it goes on with %s from a cache that was computed with %s: answers may differ from those there"
        chat = ["chat", "--session", "one", "--max-tokens", "4"]
        there = self.run_command(*chat, "--simd", other, stdin=b"who?\n")
        self.assertIn((note % (other, here)).encode(), there.stderr)
        self.assertNotIn(b"reading", there.stderr)
        again = self.run_command(*chat, "--simd", other, stdin=b"and then?\n")
        self.assertNotIn(b"it goes on with", again.stderr)
        self.assertIn((note % (here, other)).encode(), self.run_command(*chat, stdin=b"who?\n").stderr)
        self.assertEqual(len(self.document("sessions", "show", "one")["messages"]), 6)


if __name__ == "__main__":
    run("__main__")
