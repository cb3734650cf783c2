#!/usr/bin/env python3
"""Sessions across processes: read, stopped, killed, asked, chatted with, copied and deleted.
Usage: session_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import termios
import time

from patience import PATIENCE, wait_until
from session_harness import CUT, FIXTURES, FULL, GROWING, MODEL, PROGRAM, AT_CI_LEVEL, SMALL, STOPPED, ProgramTest, Terminal, run, text

OTHER_MODEL = os.path.join(FIXTURES, "llama3-scaled.f16.gguf")
SHIPPED = os.path.join(FIXTURES, "..", "..", "..", "resources", "default-model", "palimpsest-small.gguf")
PASTES_UNMARKED = b"\x1b[?2004l"
SHORT = 1500 if AT_CI_LEVEL else 3000  # words
LONG = 300000 if FULL else 15000 if AT_CI_LEVEL else 60000  # words


def printed(text):
    """The text as the command prints it: a random model also writes control characters, which are escaped."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: "\\x%02x" % ord(found[0]), text)
    return re.sub(r"[\x80-\x9f\u202a-\u202e\u2066-\u2069]", lambda found: "\\u{%x}" % ord(found[0]), text)


class SessionTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(SHORT, 1))

    def fails(self, status, code, *arguments):
        errors = [line for line in self.run_command(*arguments, status=status).stderr.decode().splitlines()
                  if line.startswith("palimpsest: ")]
        self.assertEqual(len(errors), 1)
        self.assertTrue(errors[0].endswith("[%s]" % code), errors[0])
        return errors[0]

    def kept(self, session):
        return self.document("inspect", "--session", session)["heads"]

    def test_gc_refuses_a_size_below_that_of_the_text(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.fails(1, "PAL-DB-08", "sessions", "gc", "--max-size", "0.001MB")
        freed = self.run_command("sessions", "gc", "--max-size", "0.001MB", "--json", status=1)
        self.assertGreater(json.loads(freed.stdout)["bytes"], 1000)
        self.assertEqual(json.loads(freed.stderr)["code"], "PAL-DB-08")

    # -- reading ---------------------------------------------------------------------------------------------------

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

    def test_passages_are_found_by_their_words(self):
        lines = [text(120, seed) for seed in range(20)]
        lines[7] = "The Lamp\n\n" + lines[7] + "Elias Verrin trimmed the wick every evening.\n"
        book = self.file("lamps.md", "\n\n".join(lines).replace("The Lamp\n", "# The Lamp\n"))
        self.run_command("read", book, "--session", "lamps", *SMALL)
        self.run_command("read", self.book, "--session", "other", *SMALL)
        found = self.document("find", "Who was trimming wicks?", "--session", "lamps")
        self.assertEqual(found["schema"], "palimpsest.passages/1")
        passage = found["passages"][0]
        self.assertIn("trimmed the wick", "".join(p["text"] for p in found["passages"]))
        self.assertEqual((passage["title"], passage["section"]), ("lamps", "The Lamp"))
        with open(book, "rb") as file:
            content = file.read()
        for one in found["passages"]:
            self.assertEqual(content[slice(*one["bytes"])].decode(), one["text"])
        self.assertEqual(found["tokens"], sum(p["tokens"][1] - p["tokens"][0] for p in found["passages"]))
        self.assertEqual(found["passages"], self.document("find", "Who was trimming wicks?")["passages"])
        plain = self.run_command("find", "wick", "--session", "lamps").stdout.decode()
        self.assertRegex(plain, r"^lamps, The Lamp, tokens [\d,]+ to [\d,]+:\n")
        # Nothing in a question is an operator of the search.
        for question in ("NEAR(wick", '"wick', "wick OR " * 5000, "text:wick*"):
            self.assertGreaterEqual(len(self.document("find", question, "--session", "lamps")["passages"]), 1)
        self.assertEqual(self.document("find", "elephant", "--session", "lamps")["passages"], [])
        self.assertIn("nothing was found", self.run_command("find", "elephant").stderr.decode())
        self.fails(3, "PAL-SESSION-01", "find", "wick", "--session", "unknown")

    def test_a_document_without_passages_is_indexed_when_it_is_searched(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        whole = self.document("find", "keeper", "--session", "one")
        with sqlite3.connect(self.database) as database:  # as an earlier version, or a stopped run, leaves it
            database.execute("DELETE FROM indexed_documents")
        self.assertIn("indexing the words of book", self.run_command("find", "keeper", "--session", "one").stderr.decode())
        self.assertEqual(self.document("find", "keeper", "--session", "one"), whole)

    def rereading(self, *options):
        """What is read again for a question by a session whose cache has forgotten the beginning of its document."""
        told = self.file("told.txt", "The Lamp\n\n" + "\n\n".join(
            ["Elias Verrin trimmed the wick in the evening of every day.", *(text(20, seed) for seed in range(30))]))
        self.run_command("read", told, "--session", "told", "--model", MODEL, "--budget", "240", "--chunk", "16")
        return self.document("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", *options)["answers"][0]["reread"]

    def test_a_question_reads_what_is_not_held_again(self):
        again = self.rereading()
        self.assertEqual(again["held"], [])
        passage = again["passages"][0]
        with open(os.path.join(self.folder, "told.txt"), "rb") as file:
            self.assertIn(b"Elias Verrin trimmed the wick", file.read()[slice(*passage["bytes"])])
        self.assertEqual(again["tokens"], sum(p["tokens"][1] - p["tokens"][0] for p in again["passages"]))
        self.assertLess(passage["held"], 0.9)
        self.assertEqual((passage["title"], passage["page"]), ("told", None))
        self.assertIsNone(self.rereading("--reread", "never"))
        self.assertEqual(self.rereading("--reread-tokens", "20")["passages"], [])
        self.fails(2, "PAL-OPTION-01", "ask", "--session", "told", "who?", "--reread", "often")
        self.fails(2, "PAL-OPTION-01", "ask", "--session", "told", "who?", "--reread-tokens", "4096")
        # From the file, the same is read again, and the answer is the same.
        ask = lambda *where: self.document("ask", *where, "Who trimmed the wick?", "--max-tokens", "8")["answers"]
        self.assertEqual(ask("--session", "told"), ask(os.path.join(self.folder, "told.txt"), "--model", MODEL, "--budget", "240",
                                                       "--chunk", "16"))
        # It is said on standard error: as a line, or as an event.
        plain = self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8").stderr.decode()
        self.assertRegex(plain, r"(?m)^read again: .*, tokens [\d,]+ to [\d,]+; [\d,]+ tokens in all, of which \d+ % were held$")
        events = [json.loads(line) for line in
                  self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", "--events").stderr.splitlines()]
        said = [event for event in events if event["event"] == "reread"]
        self.assertEqual(said[0]["passages"], again["passages"])

    def test_a_chat_stores_what_it_read_again(self):
        self.rereading()
        chat = self.document("chat", "--session", "told", "--max-tokens", "8", stdin=b"Who trimmed the wick?\nWho trimmed the wick?\n")
        first = chat["turns"][0]["reread"]["passages"]
        stored = self.query("SELECT first_token, end_token FROM read_again ORDER BY message, at")
        self.assertEqual(list(stored[0]), first[0]["tokens"])
        self.run_command("sessions", "fork", "told", "copy")
        self.assertEqual(len(self.query("SELECT 1 FROM read_again")), 2 * len(stored))
        self.run_command("sessions", "rm", "told")
        self.assertEqual(len(self.query("SELECT 1 FROM read_again")), len(stored))

    def test_an_answer_has_a_sentence_of_the_document_under_it(self):
        self.rereading()
        ask = lambda *more: self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", *more)
        answer = json.loads(ask("--json").stdout)["answers"][0]
        quote = answer["quote"]
        self.assertEqual(quote["text"], "Elias Verrin trimmed the wick in the evening of every day.")
        with open(os.path.join(self.folder, "told.txt"), "rb") as file:
            self.assertEqual(file.read()[slice(*quote["bytes"])].decode(), quote["text"])
        self.assertEqual(self.document("ask", "--session", "told", "who?", "--max-tokens", "8")["answers"][0]["quote"], None)
        self.assertRegex(ask().stderr.decode(), r'(?m)^quote: "Elias Verrin trimmed .*" \(.*, tokens [\d,]+ to [\d,]+\)$')
        events = [json.loads(line) for line in ask("--events").stderr.splitlines()]
        self.assertEqual([e["quote"]["text"] for e in events if e["event"] == "quote"], [quote["text"]])

    def test_the_model_ranks_what_was_found_if_it_is_given_time(self):
        self.rereading()
        ranked = lambda seconds: self.document("ask", "--session", "told", "Who trimmed the wick and the sea?", "--max-tokens", "8",
                                               "--rank-seconds", seconds)["answers"][0]["reread"]
        self.assertEqual(ranked("0")["ranked"], 0)
        self.assertEqual(ranked("3600")["ranked"], min(48, ranked("3600")["found"]))
        self.assertGreater(ranked("3600")["found"], 12)
        found = lambda *more: [p["tokens"] for p in self.document("find", "sea", "--session", "told", *more)["passages"]]
        self.assertNotEqual(found(), [])
        self.assertEqual(found("--rank-seconds", "3600", "--model", MODEL), found("--rank-seconds", "3600", "--model", MODEL))

    def test_an_installed_encoder_finds_by_meaning(self):
        folder = os.path.join(self.folder, "palimpsest", "models", "all-MiniLM-L6-v2")
        shutil.copytree(os.path.join(FIXTURES, "..", "encoder", "bert"), folder)
        self.rereading()  # embeddings are made while the document is read
        (passages,), = self.query("SELECT count(*) FROM passages")
        self.assertEqual(self.query("SELECT count(*) FROM passage_vectors"), [(passages,)])
        find = lambda *more: self.document("find", "xylophone", "--session", "told", *more)["passages"]
        self.assertNotEqual(find(), [])
        self.assertEqual(find("--words"), [])
        # Embeddings that are missing are made when they are needed; those of a file are made for the question.
        with sqlite3.connect(self.database) as database:
            database.execute("DELETE FROM passage_vectors")
            database.execute("DELETE FROM encoded_documents")
        before = self.rereading()
        self.assertEqual(self.query("SELECT count(*) FROM passage_vectors"), [(passages,)])
        told = os.path.join(self.folder, "told.txt")
        from_file = self.document("ask", told, "Who trimmed the wick?", "--model", MODEL, "--budget", "240", "--chunk", "16",
                                  "--max-tokens", "8")["answers"][0]["reread"]
        self.assertEqual(from_file["passages"], before["passages"])
        # A session whose text is computed again to answer a question writes nothing.
        with sqlite3.connect(self.database) as database:
            database.execute("DELETE FROM encoded_documents")
        self.run_command("sessions", "strip", "told")
        self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", "--recompute", "--reread", "never")
        self.assertEqual(self.query("SELECT 1 FROM encoded_documents"), [])
        # One that cannot be used is named, and nothing else is lost: first while it computes, then when it is opened.
        weights = os.path.join(folder, "model.safetensors")
        with open(weights, "r+b") as file:
            file.seek(os.path.getsize(weights) // 2)
            file.write(b"\x00\x00\xc0\x7f" * (os.path.getsize(weights) // 8))
        done = self.run_command("read", self.book, "--session", "other", *SMALL)
        self.assertEqual(done.stderr.count(b"passages are found by their words alone"), 1)
        self.assertNotEqual(self.document("find", "keeper", "--session", "other")["passages"], [])
        os.truncate(os.path.join(folder, "model.safetensors"), 1000)
        done = self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", "--json")
        self.assertEqual(done.stderr.count(b"passages are found by their words alone"), 1)
        self.assertNotEqual(json.loads(done.stdout)["answers"][0]["reread"]["passages"], [])

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
        summary = self.document("summarize", book, "--session", "cut", "--max-tokens", "2")
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

    # -- chat ------------------------------------------------------------------------------------------------------

    def test_a_chat_is_saved_after_every_turn_and_can_be_continued(self):
        chat = lambda name, lines, *more: self.document(
            "chat", "--session", name, *SMALL, "--max-tokens", "12", "--seed", "7", *more, stdin=lines.encode())["turns"]
        whole = chat("whole", "one\ntwo\nthree\nfour\n")
        first = chat("parts", "one\ntwo\n")
        rest = chat("parts", "three\nfour\n")
        self.assertEqual(first + rest, whole)
        messages = self.document("sessions", "show", "parts")["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 4)
        self.assertEqual([m["text"] for m in messages[::2]], ["one", "two", "three", "four"])

    def test_a_chat_with_no_save_creates_no_database(self):
        answers = self.document("chat", "--no-save", *SMALL, "--max-tokens", "8", stdin=b"one\ntwo\n")["turns"]
        self.assertEqual([a["message"] for a in answers], ["one", "two"])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "palimpsest")))
        self.fails(2, "PAL-OPTION-01", "read", self.book, "--session", "x", "--no-save", *SMALL)
        self.fails(1, "PAL-DOC-03", "read", self.file("empty.txt", ""), "--session", "x", *SMALL)

    def test_a_terminal_supports_editing_pasting_and_undo(self):
        terminal = Terminal(self.environment, "chat", "--session", "t", *SMALL, "--max-tokens", "6")
        messages = lambda: [m["text"] for m in self.document("sessions", "show", "t")["messages"] if m["role"] == "user"]
        terminal.wait_for(b"> ")
        for keys in ("the se\u00e1x\x7f\r".encode(), b"\x1b[200~one\rtwo\x1b[201~\r", b"gone\r"):
            terminal.write(keys)
            terminal.wait_for(b"\n> ")
        self.assertEqual(messages(), ["the se\u00e1", "one\ntwo", "gone"])
        terminal.write(b"/undo\r/quit\r")
        self.assertEqual(terminal.status(), 0)
        self.assertEqual(messages(), ["the se\u00e1", "one\ntwo"])

    def test_a_killed_chat_loses_no_finished_turn(self):
        source = random.Random(6)
        for attempt in range(12 if FULL else 3):
            name = "chat %d" % attempt
            process = self.start("chat", "--session", name, *SMALL, "--max-tokens", "40", "--events")
            said = []
            for turn in range(source.randint(1, 4)):
                process.stdin.write(b"turn %d\n" % turn)
                process.stdin.flush()
                while json.loads(process.stderr.readline())["event"] != "checkpoint":  # saved at the end of a turn
                    pass
                said.append(turn)
            time.sleep(source.uniform(0, 0.1))
            process.kill()
            process.communicate()
            messages = self.document("sessions", "show", name)["messages"]
            users = [m["text"] for m in messages if m["role"] == "user"]
            self.assertEqual(users, ["turn %d" % t for t in range(len(said))])
            # The chat can be continued.
            self.run_command("chat", "--session", name, *SMALL, "--max-tokens", "8", stdin=b"and now?\n")
            self.run_command("sessions", "verify", name)

    def test_an_answer_that_a_crash_cut_short_is_marked_as_stopped(self):
        process = self.start("chat", "--session", "one", *SMALL, "--max-tokens", "1000000", "--events")
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        while json.loads(process.stderr.readline())["event"] != "token":
            pass
        process.kill()
        process.communicate()
        state = lambda: self.document("sessions", "show", "one")["messages"][1]["state"]
        self.assertEqual(state(), "growing")
        self.document("inspect", "--session", "one")
        self.assertEqual(state(), "growing")  # a reader changes nothing
        self.run_command("chat", "--session", "one")
        self.assertEqual(state(), "stopped")

    def traces(self):
        # LeakSanitizer uses ptrace, so it fails in a process that strace traces.
        self.traced = dict(self.environment, ASAN_OPTIONS="detect_leaks=0")
        return bool(shutil.which("strace")) and subprocess.run(["strace", "true"], capture_output=True).returncode == 0

    def chat_with_failing_writes(self, first, last, lines, name):
        """Chats with the session. Once it is open, its writes `first` to `last` fail with ENOSPC, or without `last` all
        from `first` on."""
        log = os.path.join(self.folder, "trace")
        subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=pwrite64", PROGRAM, "chat", "--session", name],
                       stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=PATIENCE, env=self.traced)
        with open(log) as lines_of_log:
            opening = sum("pwrite64(" in line for line in lines_of_log)
        when = "%d..%d" % (opening + first, opening + last) if last else "%d+" % (opening + first)
        trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC:when=" + when]
        return subprocess.run([*trace, PROGRAM, "chat", "--session", name, "--max-tokens", "12", "--json"], input=lines,
                              capture_output=True, timeout=PATIENCE, env=self.traced)

    def test_a_full_disk_does_not_stop_an_answer(self):
        if not self.traces():
            self.skipTest("strace is not there, or not allowed")
        first = lambda name: self.run_command("chat", "--session", name, *SMALL, "--max-tokens", "12", stdin=b"zero\n")
        messages = lambda name: [m["text"] for m in self.document("sessions", "show", name)["messages"][::2]]
        first("whole")
        expected = self.document("chat", "--session", "whole", "--max-tokens", "12", stdin=b"one\ntwo\n")["turns"]

        # Without space from the first turn on, both messages are answered; a note and the final error say that the
        # turns are not saved.
        first("full")
        full = self.chat_with_failing_writes(1, None, b"one\ntwo\n", "full")
        errors = full.stderr.decode()
        self.assertEqual(full.returncode, 4, errors)
        self.assertEqual(json.loads(full.stdout)["turns"], expected)
        self.assertIn("note: session 'full': the last turn is not saved: the disk is full", errors)
        error = json.loads(errors.splitlines()[-1])
        self.assertEqual(error["code"], "PAL-DISK-01")
        self.assertTrue(error["text"].startswith("the last 2 turns are not saved"), error)
        self.assertEqual(messages("full"), ["zero"])
        self.run_command("sessions", "verify", "full")
        # Turns that were not saved are not part of the session.
        again = self.document("chat", "--session", "full", "--max-tokens", "12", stdin=b"one\ntwo\n")["turns"]
        self.assertEqual(again, expected)

        # When there is space again during the second turn, both turns are saved.
        first("later")
        later = self.chat_with_failing_writes(1, 2, b"one\ntwo\n", "later")
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assertIn(b"the last turn is not saved", later.stderr)
        self.assertIn(b"all turns are saved now", later.stderr)
        self.assertEqual(json.loads(later.stdout)["turns"], expected)
        self.assertEqual(messages("later"), ["zero", "one", "two"])
        self.assertEqual(self.kept("later"), self.kept("whole"))

        # Whichever write is the first to fail, every turn that is not reported as unsaved is stored.
        for moment in range(1, 40, 5 if AT_CI_LEVEL else 1):
            name = "at %d" % moment
            first(name)
            failed = self.chat_with_failing_writes(moment, None, b"one\ntwo\n", name)
            self.assertIn(failed.returncode, (0, 4), failed.stderr)
            self.assertEqual(json.loads(failed.stdout)["turns"], expected)
            lost = re.search(r"the last (\d )?turns? (is|are) not saved[^\n]*\Z", failed.stderr.decode().strip())
            self.assertEqual(failed.returncode == 4, lost is not None, failed.stderr)
            count = 0 if not lost else int(lost[1] or 1)
            self.assertEqual(messages(name)[:3 - count], ["zero", "one", "two"][:3 - count])
            self.run_command("sessions", "verify", name)
            self.run_command("sessions", "rm", name)
            if failed.returncode == 0 and b"not saved" not in failed.stderr:
                break
        self.assertGreater(moment, 5)

    def test_a_file_size_limit_does_not_stop_an_answer(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "12", stdin=b"zero\n")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (33000, 33000))
        process = self.start("chat", "--session", "one", "--max-tokens", "12", preexec_fn=limit)
        answers, errors = process.communicate(b"one\ntwo\n", timeout=PATIENCE)
        self.assertEqual(process.returncode, 4, errors)
        self.assertEqual(len(answers.splitlines()) >= 2, True)
        self.assertIn(b"[PAL-DISK-02]", errors.splitlines()[-1])
        self.assertEqual(len(self.document("sessions", "show", "one")["messages"]), 2)
        self.run_command("sessions", "verify", "one")

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

    def test_a_chat_keeps_the_sampling_it_was_begun_with(self):
        chat = lambda name, lines, *more: self.document("chat", "--session", name, "--max-tokens", "12", *more,
                                                        stdin=lines.encode())
        begun = [*SMALL, "--temperature", "1.2", "--seed", "7"]
        whole = chat("whole", "one\ntwo\nthree\nfour\n", *begun)["turns"]
        first = chat("parts", "one\ntwo\n", *begun)["turns"]
        rest = chat("parts", "three\nfour\n")
        self.assertEqual((rest["temperature"], rest["seed"]), (1.2, 7))
        self.assertEqual(first + rest["turns"], whole)
        chat("parts", "five\n", "--temperature", "0")
        self.assertEqual(chat("parts", "six\n")["temperature"], 1.2)

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

    def test_a_long_question_can_be_stopped_and_the_chat_continued(self):
        chat = self.start("chat", "--session", "one", *SMALL, "--max-tokens", "4")
        chat.stdin.write(text(LONG // 2, 7).replace("\n", " ").encode() + b"\n")
        chat.stdin.flush()
        wait_until(lambda: self.stored_messages("one") > 0)
        chat.send_signal(signal.SIGINT)
        chat.stdout.readline()
        out, err = chat.communicate(b"and then?\n", timeout=PATIENCE)
        self.assertEqual(chat.returncode, 0, err.decode())
        messages = self.document("sessions", "show", "one")["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 2)
        self.assertEqual(messages[2]["text"], "and then?")
        self.assertEqual(printed(messages[3]["text"]) + "\n", out.decode())
        kept = self.kept("one")
        self.run_command("sessions", "strip", "one")
        self.assertEqual(self.kept("one"), kept)

    def test_an_answer_without_tokens_is_replayed_too(self):
        wild = ["--temperature", "100", "--seed", "38", "--max-tokens", "1"]
        said = self.document("chat", "--session", "one", *SMALL, *wild, stdin=b"hello\n" * 4)["turns"]
        self.assertIn(("", "end_of_text"), [(turn["answer"], turn["end"]) for turn in said])
        self.run_command("sessions", "fork", "one", "two")
        self.run_command("sessions", "strip", "one")
        self.assertEqual(self.kept("one"), self.kept("two"))
        again, whole = [self.document("chat", "--session", name, *wild[:2], "--max-tokens", "9", stdin=b"and?\n")["turns"]
                        for name in ("one", "two")]
        self.assertEqual(again, whole)
        self.assertEqual(self.kept("one"), self.kept("two"))

    def test_an_answer_killed_before_its_first_word_is_replayed_bit_for_bit(self):
        greedy = ["--temperature", "0"]
        self.run_command("chat", "--session", "one", *SMALL, *greedy, "--max-tokens", "2", stdin=b"first\n")
        chat = self.start("chat", "--session", "one", *greedy, "--max-tokens", "90000")
        chat.stdin.write(b"tell me a story of ships\n")
        chat.stdin.flush()
        wait_until(lambda: self.stored_messages("one") == 4)
        chat.kill()
        chat.communicate()
        self.run_command("chat", "--session", "one", *greedy, "--max-tokens", "4", stdin=b"go on now please and more\n")
        self.run_command("sessions", "fork", "one", "two")
        self.run_command("sessions", "strip", "one")
        self.assertEqual(self.kept("one"), self.kept("two"))
        again, whole = [self.document("chat", "--session", name, *greedy, "--max-tokens", "9", stdin=b"and?\n")["turns"]
                        for name in ("one", "two")]
        self.assertEqual(again, whole)

    def test_a_message_that_cannot_be_fed_is_refused_before_it_is_stored(self):
        small = ["--model", MODEL, "--policy", "full", "--budget", "64", "--chunk", "8", "--max-tokens", "4"]
        self.run_command("chat", "--session", "one", *small, stdin=b"hi\n")
        self.run_command("chat", "--session", "one", *small[6:], stdin=b"far too much for what is left " * 8 + b"\n", status=4)
        self.assertEqual(len(self.document("sessions", "show", "one")["messages"]), 2)
        self.run_command("chat", "--session", "one", *small[6:], stdin=b"ho\n")
        self.fails(4, "PAL-BUDGET-02", "read", self.book, "--session", "two", *small[:-2])
        self.assertEqual([s["name"] for s in self.document("sessions", "list")["sessions"]], ["one"])
        self.run_command("chat", "--session", "long", *SMALL, stdin=b"word " * (2000000 if AT_CI_LEVEL else 4000000) + b"\n", status=2)
        self.assertEqual(self.document("sessions", "show", "long")["messages"], [])

    def test_unreadable_settings_are_reported(self):
        self.run_command("chat", "--session", "one", *SMALL, "--max-tokens", "2", stdin=b"hi\n")
        for options in ('{"budget": "x"}', '{"model": 5}', "no json", '{"temperature": {}}'):
            with sqlite3.connect(os.path.join(self.folder, "palimpsest", "palimpsest.db")) as database:
                database.execute("UPDATE sessions SET options = ?", (options,))
            self.fails(1, "PAL-DB-03", "ask", "--session", "one", "who?")
            self.assertEqual(self.document("sessions", "show", "one")["messages"][0]["text"], "hi")

    def test_a_stopped_question_can_be_undone(self):
        terminal = Terminal(self.environment, "chat", "--session", "t", *SMALL, "--max-tokens", "6")
        terminal.wait_for(b"> ")
        terminal.write(b"/undo\r")
        terminal.wait_for(b"PAL-SESSION-04")
        terminal.wait_for(b"> ")
        terminal.write(b"first\r")
        terminal.wait_until(lambda: self.stored_messages("t") == 2)
        terminal.write(b"\x1b[200~" + text(20000, 7).replace("\n", " ").encode() + b"\x1b[201~\r")
        terminal.wait_until(lambda: self.stored_messages("t") > 2)
        terminal.write(b"\x03")
        terminal.wait_until(lambda: self.stored_messages("t") == 4 and self.message_states("t")[-1] != GROWING)
        self.assertEqual(self.message_states("t")[1::2], [CUT, STOPPED])
        terminal.write(b"/undo\rsecond\r/quit\r")
        self.assertEqual(terminal.status(), 0)
        messages = self.document("sessions", "show", "t")["messages"]
        self.assertEqual([m["text"] for m in messages if m["role"] == "user"], ["first", "second"])
        kept = self.kept("t")
        self.run_command("sessions", "strip", "t")
        self.assertEqual(self.kept("t"), kept)

    def test_text_pasted_during_an_answer_is_complete(self):
        first, second = (text(words, 7).replace("\n", " ").strip() for words in (60000, 3000))
        paste = lambda said: b"\x1b[200~" + said.encode() + b"\x1b[201~\r"
        terminal = Terminal(self.environment, "chat", "--session", "t", *SMALL, "--max-tokens", "8")
        terminal.wait_for(b"> ")
        terminal.write(paste(first))
        terminal.wait_until(lambda: self.message_states("t")[1:] == [GROWING])
        terminal.signal(signal.SIGSTOP)
        left = terminal.write_what_fits(paste(second))
        self.assertEqual(self.message_states("t")[1:], [GROWING])
        terminal.signal(signal.SIGCONT)
        terminal.signal(signal.SIGINT)
        terminal.write(left + b"/quit\r")
        self.assertEqual(terminal.status(), 0)
        messages = self.document("sessions", "show", "t")["messages"]
        self.assertEqual([m["text"] for m in messages if m["role"] == "user"], [first, second])

    def test_a_second_signal_restores_the_terminal(self):
        terminal = Terminal(self.environment, "chat", "--session", "t", *SMALL, "--max-tokens", "8")
        terminal.wait_for(b"> ")
        terminal.write(b"\x1b[200~" + text(60000, 7).replace("\n", " ").encode() + b"\x1b[201~\r")
        terminal.wait_until(lambda: self.message_states("t")[1:] == [GROWING])
        kept = termios.ICANON | termios.ECHO
        self.assertEqual(terminal.modes() & kept, 0)
        self.assertEqual(terminal.end_with(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertEqual(terminal.modes() & kept, kept)
        terminal.wait_for(PASTES_UNMARKED)

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
        self.assertEqual(self.document("sessions", "list")["sessions"], [])
        self.document("read", self.book, "--session", "one", *SMALL)
        self.fails(2, "PAL-PIN-04", "ask", "--session", "one", "who?", "--pin", "0-3")
        self.fails(2, "PAL-PIN-04", "inspect", "-", *SMALL, "--pin", "the keeper")

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
        self.fails(2, "PAL-SESSION-02", "sessions", "import", exported, *elsewhere)
        self.run_command("sessions", "verify", "moby", *elsewhere)
        here, there = self.document("sessions", "show", "moby"), self.document("sessions", "show", "moby", *elsewhere)
        self.assertEqual(here["messages"], there["messages"])
        self.assertEqual(self.document("inspect", "--session", "moby", *elsewhere)["heads"], self.kept("moby"))
        self.fails(1, "PAL-DB-02", "sessions", "import", self.book)

        self.run_command("sessions", "strip", "copy")
        self.assertEqual(self.document("sessions", "show", "copy")["states"], [])
        self.assertEqual(len(self.document("sessions", "show", "copy")["messages"]), 2)
        self.run_command("sessions", "rm", "moby")
        self.run_command("sessions", "rm", "copy")
        self.assertEqual(self.document("sessions", "list")["sessions"], [])
        with open(os.path.join(self.folder, "palimpsest", "palimpsest.db"), "rb") as file:
            self.assertNotIn(b"who?", file.read())

    def test_an_export_with_a_wrong_block_hash_is_refused(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        file = os.path.join(self.folder, "one.palimpsest")
        self.run_command("sessions", "export", "one", file)
        with sqlite3.connect(file) as exported:
            exported.execute("UPDATE blocks SET hash = randomblob(16)")
        self.fails(1, "PAL-SNAP-03", "sessions", "import", file, "--name", "two")
        self.assertEqual([s["name"] for s in self.document("sessions", "list")["sessions"]], ["one"])
        self.run_command("sessions", "verify", "one")

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

    def test_reading_again_on_another_simd_target_keeps_intact_checkpoints(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        expected = self.kept("one")
        here = self.document("ask", self.book, "who?", *SMALL, "--max-tokens", "2")["backend"]["simd"]
        other = next((simd for simd in ("SSE4", "SSE2", "AVX2", "NEON", "EMU128") if simd != here and self.start(
            "inspect", self.book, *SMALL, "--simd", simd).communicate()[0]), None)
        if not other:
            self.skipTest("one SIMD target only")
        sentence = self.fails(1, "PAL-SNAP-02", "ask", "--session", "one", "who?", "--simd", other)
        self.assertIn("--simd to " + here, sentence)
        self.run_command("chat", "--session", "one", "--simd", other, "--recompute")
        self.assertEqual(len(self.document("sessions", "show", "one")["states"]), 1)
        self.assertEqual(self.kept("one"), expected)

    def test_one_process_writes_while_others_read(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        owner = self.start("chat", "--session", "two", *SMALL, "--max-tokens", "8", "--events")
        owner.stdin.write(b"hello\n")
        owner.stdin.flush()
        while json.loads(owner.stderr.readline())["event"] != "checkpoint":
            pass
        sentence = self.fails(5, "PAL-DB-07", "read", self.book, "--session", "three", *SMALL)
        self.assertIsNone(owner.poll())  # the second writer gave up before the owner ended
        self.assertIn("process %d" % owner.pid, sentence)
        self.assertEqual({s["name"] for s in self.document("sessions", "list")["sessions"]}, {"one", "two"})
        self.run_command("ask", "--session", "one", "who?", "--max-tokens", "4")
        owner.communicate(timeout=PATIENCE)
        self.assertEqual(owner.returncode, 0)


if __name__ == "__main__":
    run("__main__")
