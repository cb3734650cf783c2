#!/usr/bin/env python3
"""Reading documents into a session: once, stopped, killed and continued, and from files that change.
Usage: reading_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import time

from patience import PATIENCE
from session_harness import FULL, LONG, MODEL, PROGRAM, SHORT, AT_CI_LEVEL, SMALL, SessionTest, run, text


class ReadingTest(SessionTest):
    def test_a_stored_document_is_not_read_again(self):
        read = self.document("read", self.book, "--session", "one", *SMALL)
        self.assertEqual(read["coverage"]["tokens_read"], read["coverage"]["tokens_in_input"])
        self.assertEqual(self.kept("one"), self.document("inspect", self.book, *SMALL)["heads"])
        asked = ["who wrote?", "and then?"]
        from_file = self.document("ask", self.book, *asked, *SMALL, "--max-tokens", "12")
        from_session = self.document("ask", "--session", "one", *asked, "--max-tokens", "12")
        self.assertEqual(from_session["answers"], from_file["answers"])
        self.assertEqual(from_session["coverage"], from_file["coverage"])
        # Asking changed nothing, and reading again feeds no tokens.
        self.assertEqual(self.document("read", self.book, "--session", "one", *SMALL)["tokens_seen"], read["tokens_seen"])

    def test_a_session_can_hold_two_documents(self):
        other = self.file("other.txt", text(600, 2))
        self.run_command("read", self.book, "--session", "two", *SMALL)
        both = self.document("read", other, "--session", "two", *SMALL)
        shown = self.document("sessions", "show", "two")
        self.assertEqual([d["source"] for d in shown["documents"]], [self.book, other])
        self.assertEqual(both["coverage"]["tokens_in_input"], sum(d["tokens"] for d in shown["documents"]))
        summary = self.document("summarize", self.book, "--session", "three", *SMALL, "--max-tokens", "8")
        self.assertEqual(len(summary["answers"]), 1)
        self.assertEqual(self.document("sessions", "show", "three")["messages"], [])

    def interrupted_at(self, session, book, stop):
        process = self.start("read", book, "--session", session, *SMALL, "--events", "--checkpoint-seconds", "0.05")
        stop(process)
        process.communicate(timeout=PATIENCE)
        return process.returncode

    def test_reading_continues_after_ctrl_c(self):
        book = self.file("long.txt", text(LONG, 3))
        expected = self.document("read", book, "--session", "whole", *SMALL)
        whole = self.kept("whole")

        def stop(process):
            process.stderr.readline()
            process.send_signal(signal.SIGINT)

        self.assertEqual(self.interrupted_at("cut", book, stop), 130)
        part = self.document("sessions", "show", "cut")["states"][0]["tokens_seen"]
        self.assertLess(part, expected["tokens_seen"])
        self.run_command("sessions", "verify", "cut")
        asked = self.document("ask", "--session", "cut", "who?", "--max-tokens", "4")
        self.assertLess(asked["coverage"]["tokens_read"], asked["coverage"]["tokens_in_input"])
        # A message is refused while a document is only partly read.
        said = self.run_command("chat", "--session", "cut", stdin=b"hello\n", status=2)
        self.assertIn(b"[PAL-SESSION-03]", said.stderr)
        again = self.document("read", book, "--session", "cut", *SMALL)
        self.assertEqual(again["tokens_seen"], expected["tokens_seen"])
        self.assertEqual(self.kept("cut"), whole)

    def test_reading_continues_after_a_kill(self):
        book = self.file("long.txt", text(LONG, 4))
        begin = time.monotonic()
        expected = self.document("read", book, "--session", "whole", *SMALL)
        duration = time.monotonic() - begin
        whole = self.kept("whole")
        answer = self.document("ask", "--session", "whole", "who?", "--max-tokens", "64")["answers"]
        source = random.Random(5)
        attempt = killed = 0
        most = 400  # enough that some fall within the reading at any machine speed
        while attempt < (40 if FULL else 8) or (killed < 3 and attempt < most) or attempt % 4:
            name = "killed %d" % (attempt // 4)  # several kills per session
            delay = source.uniform(0, 0.7) * duration
            code = self.interrupted_at(name, book, lambda p: (time.sleep(delay), p.kill()))
            self.assertIn(code, (0, -signal.SIGKILL))
            killed += code != 0
            if attempt % 4 == 3:
                self.assertEqual(self.document("read", book, "--session", name, *SMALL)["tokens_seen"],
                                 expected["tokens_seen"])
                self.assertEqual(self.kept(name), whole)
                self.assertEqual(self.document("ask", "--session", name, "who?", "--max-tokens", "64")["answers"], answer)
                self.run_command("sessions", "verify", name)
            attempt += 1
        self.assertGreaterEqual(killed, 3)
        with sqlite3.connect(os.path.join(self.folder, "palimpsest", "palimpsest.db")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def test_a_file_that_has_changed_is_noticed(self):
        read = lambda *more: self.run_command("read", self.book, "--session", "one", *SMALL, *more).stderr.decode()
        documents = lambda: len(self.document("sessions", "show", "one")["documents"])
        read()
        os.utime(self.book, (1, 1))
        self.assertIn("was read into this session before", read())
        same_length = text(SHORT, 1).replace("keeper", "warden")
        for content in (same_length, text(SHORT, 1) + "More.\n"):
            self.file("book.txt", content)
            sentence = self.fails(1, "PAL-DOC-06", "read", self.book, "--session", "one", *SMALL)
            self.assertIn("--again", sentence)
            self.fails(1, "PAL-DOC-06", "summarize", self.book, "--session", "one")
        self.assertEqual(documents(), 1)
        read("--again")
        self.assertEqual(documents(), 2)
        self.assertIn("was read into this session before", read())
        self.file("book.txt", text(SHORT, 1))  # the original content
        self.assertIn("was read into this session before", read())
        read("--again")
        self.assertEqual(documents(), 3)
        # A document from a pipe is never recognised as one that was read before.
        for expected in (4, 5):
            self.run_command("read", "-", "--session", "one", stdin=b"the keeper wrote\n")
            self.assertEqual(documents(), expected)

    def test_a_file_that_changes_while_partly_read_is_completed_from_what_is_stored(self):
        content = text(LONG, 12)
        book = self.file("long.txt", content)
        expected = self.document("read", book, "--session", "whole", *SMALL)
        whole = self.kept("whole")

        def stop(process):
            process.stderr.readline()
            process.send_signal(signal.SIGINT)

        self.assertEqual(self.interrupted_at("cut", book, stop), 130)
        self.file("long.txt", content.replace("sea", "hill"))
        again = self.run_command("read", book, "--session", "cut", *SMALL, "--again", "--json")
        self.assertIn(b"its file has changed", again.stderr)
        self.assertEqual(json.loads(again.stdout)["tokens_seen"], expected["tokens_seen"])
        self.assertEqual(self.kept("cut"), whole)
        self.fails(1, "PAL-DOC-06", "read", book, "--session", "cut", *SMALL)

    def test_progress_continues_from_where_the_reading_was_stopped(self):
        book = self.file("long.txt", text(LONG, 13))

        def stop(process):
            for _ in range(12):
                process.stderr.readline()
            process.send_signal(signal.SIGINT)

        self.assertEqual(self.interrupted_at("cut", book, stop), 130)
        self.run_command("sessions", "fork", "cut", "copy")
        shown = self.document("sessions", "show", "cut")
        done, total = shown["tokens_saved"], shown["documents"][0]["tokens"]
        result = self.run_command("read", book, "--session", "cut", "--events", "--json")
        events = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertRegex(events[0]["text"], r"going on with long at [0-9,]+ of %s tokens" % format(total, ","))
        progress = [e for e in events if e["event"] == "progress"]
        self.assertGreater(min(e["tokens_seen"] for e in progress), done)
        self.assertGreater(min(e["seconds_left"] for e in progress[:-1]), 0)
        self.assertEqual(progress[-1]["seconds_left"], 0)
        self.assertEqual(progress[-1]["tokens_seen"], progress[-1]["tokens_total"])
        final = json.loads(result.stdout)
        self.assertEqual(final["tokens_fed_again"], 0)
        self.assertGreater(final["bytes_written"], 0)
        lines = self.run_command("read", book, "--session", "copy").stderr.decode().splitlines()
        first = next(line for line in lines if line.startswith("Reading "))
        self.assertGreaterEqual(int(first.split()[2]), 100 * done // (total + 100))
        self.assertIn(" left - ", first)
        # Asking and inspecting feed no tokens and write no bytes.
        for command in (["ask", "--session", "cut", "who?", "--max-tokens", "2"], ["inspect", "--session", "cut"]):
            counts = self.document(*command)
            self.assertEqual((counts["tokens_fed_again"], counts["bytes_written"]), (0, 0))
        summary = self.document("summarize", book, "--session", "cut", "--max-tokens", "2", "--no-notes")
        self.assertEqual((summary["tokens_fed_again"], summary["bytes_written"]), (0, 0))

    def test_sections_are_shown_and_their_ends_are_checkpoints(self):
        chapters = ["CHAPTER %d\n\n%s\n" % (i + 1, text(1200 + 50 * i, 20 + i)) for i in range(12)]
        book = self.file("chapters.txt", "".join(chapters))
        result = self.run_command("read", book, "--session", "one", *SMALL, "--events", "--checkpoint-seconds", "0")
        document = self.document("sessions", "show", "one")["documents"][0]
        sections = document["sections"]
        self.assertEqual([s["title"] for s in sections], ["CHAPTER %d" % (i + 1) for i in range(12)])
        begins = [sum(len(c) for c in chapters[:i]) for i in range(12)]
        self.assertEqual([s["first_byte"] for s in sections], begins)
        pieces = self.document("tokenize", book, "--pieces", "--model", MODEL)["pieces"]
        plain = [re.sub("<0x(..)>", lambda m: chr(int(m[1], 16)), p).replace("\u2581", " ") for p in pieces]
        for s in sections:
            at = s["first_token"]
            self.assertRegex("".join(plain[at:at + 20]), r"^\s*%s\b" % s["title"])
            self.assertNotRegex("".join(plain[at + 1:at + 20]), r"^\s*CHAPTER")
        self.assertIn("12 sections", self.run_command("sessions", "show", "one").stdout.decode())
        # A checkpoint holds whole chunks of 16 tokens, and the pending tokens of the next chunk.
        framing = self.document("sessions", "show", "one")["tokens"] - document["tokens"]
        saved = [e["tokens_seen"] for e in map(json.loads, result.stderr.splitlines()) if e["event"] == "checkpoint"]
        ends = {(framing + s["first_token"]) // 16 * 16 for s in sections[1:]}
        self.assertEqual(ends - set(saved), set())
        # With a long interval, the end of the document is the only checkpoint.
        result = self.run_command("read", book, "--session", "two", *SMALL, "--events", "--checkpoint-seconds", "3600")
        self.assertEqual(result.stderr.count(b'"checkpoint"'), 1)
        markdown = self.file("notes.md", "# One\n\nthe light\n\nTwo\n---\n\n```\n# no\n```\n")
        self.run_command("read", markdown, "--session", "three", *SMALL)
        sections = self.document("sessions", "show", "three")["documents"][0]["sections"]
        self.assertEqual([s["title"] for s in sections], ["One", "Two"])

    def test_a_partly_read_pipe_continues_when_it_is_piped_again(self):
        book = text(LONG, 4).encode()
        whole = self.start("read", "-", "--session", "whole", *SMALL)
        whole.communicate(book, timeout=PATIENCE)
        cut = self.start("read", "-", "--session", "cut", *SMALL, "--events", "--checkpoint-seconds", "0")
        cut.stdin.write(book)
        cut.stdin.close()
        for line in cut.stderr:
            if json.loads(line)["event"] == "checkpoint":
                break
        cut.kill()
        cut.wait()
        cut.stderr.close()
        cut.stdout.close()
        again = self.document("read", "-", "--session", "cut", stdin=book)
        self.assertEqual(again["coverage"]["tokens_read"], again["coverage"]["tokens_in_input"])
        self.assertEqual(len(self.document("sessions", "show", "cut")["documents"]), 1)
        self.assertEqual(self.kept("cut"), self.kept("whole"))
        # A different text is a second document.
        self.document("read", "-", "--session", "cut", stdin=b"and something else")
        self.assertEqual(len(self.document("sessions", "show", "cut")["documents"]), 2)

    def killed_at_write(self, number, *arguments):
        """Runs the command and kills it just before its `number`-th write to a file. Returns its exit code."""
        trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=pwrite64,fdatasync,fsync",
                 "-e", "inject=pwrite64,fdatasync,fsync:signal=SIGKILL:when=%d" % number]
        return subprocess.run([*trace, PROGRAM, *arguments], capture_output=True, timeout=PATIENCE,
                              env=self.traced).returncode

    def writes_of(self, *arguments):
        log = os.path.join(self.folder, "trace")
        subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=pwrite64,fdatasync,fsync", PROGRAM, *arguments],
                       check=True, capture_output=True, timeout=PATIENCE, env=self.traced)
        with open(log) as lines:
            return sum(("pwrite64(" in line or "sync(" in line) for line in lines)

    def test_reading_survives_a_kill_at_any_write(self):
        if not self.traces():
            self.skipTest("strace is not there, or not allowed")
        book = self.file("book.txt", text(20000, 8))
        read = lambda name: ["read", book, "--session", name, *SMALL, "--checkpoint-seconds", "0.02"]
        total = self.writes_of(*read("whole"))
        expected, whole = self.document("sessions", "show", "whole")["tokens"], self.kept("whole")
        answer = self.document("ask", "--session", "whole", "who?", "--max-tokens", "64")["answers"]
        self.assertGreater(total, 40)
        # Nearly all writes belong to a transaction of the import or of a checkpoint. The number of checkpoints
        # depends on the clock, so a run may have fewer writes than the one that was counted.
        moments = 60 if FULL else 6 if AT_CI_LEVEL else 20
        killed = 0
        for i in range(moments):
            name = "cut %d" % i
            code = self.killed_at_write(1 + i * total // 2 // moments, *read(name))
            self.assertIn(code, (0, -signal.SIGKILL, 128 + signal.SIGKILL))
            killed += code != 0
            self.assertEqual(self.document(*read(name)[:4], *SMALL)["tokens_seen"], expected)
            self.assertEqual(self.kept(name), whole)
            self.assertEqual(self.document("ask", "--session", name, "who?", "--max-tokens", "64")["answers"], answer)
        self.assertGreater(killed, moments * 3 // 4)


if __name__ == "__main__":
    run("__main__")
