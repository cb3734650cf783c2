#!/usr/bin/env python3
"""Passages of what a session has read: found, read again before an answer, and quoted under it.
Usage: passage_process_test.py PALIMPSEST MODEL_FIXTURES"""
import fcntl
import json
import os
import shutil
import sqlite3

from session_harness import FIXTURES, MODEL, SMALL, SessionTest, run, text


class PassageTest(SessionTest):
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
        plain = self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8",
                                 "--answer-from", "session").stderr.decode()
        self.assertRegex(plain, r"(?m)^read again: .*, tokens [\d,]+ to [\d,]+; [\d,]+ tokens in all, of which \d+ % were held$")
        events = [json.loads(line) for line in
                  self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", "--events").stderr.splitlines()]
        said = [event for event in events if event["event"] == "reread"]
        self.assertEqual(said[0]["passages"], again["passages"])

    def test_a_chat_stores_what_it_read_again(self):
        self.rereading()
        chat = self.document("chat", "--session", "told", "--max-tokens", "8", stdin=b"Who trimmed the wick?\nWho trimmed the wick?\n")
        first = chat["turns"][0]
        self.assertEqual(first["answered_from"], "passages")
        stored = self.query("SELECT first_token, end_token FROM read_again ORDER BY message, at")
        self.assertEqual([list(tokens) for tokens in stored[:len(first["excerpts"])]], [e["tokens"] for e in first["excerpts"]])
        # The window shows where its answers come from.
        kept = [json.loads(data) for (data,) in self.query("SELECT data FROM provenance ORDER BY message")]
        self.assertEqual([(p["quote"]["text"], p["sources_alone"], len(p["sources"])) for p in kept],
                         [(t["quote"]["text"], t["answered_from"] == "passages", len(t["excerpts"])) for t in chat["turns"]])
        talk = lambda *more: self.document("chat", "--session", "told", "--max-tokens", "8", "--reread", "always", *more,
                                           stdin=b"Who trimmed the wick?\n")["turns"][0]
        other = talk("--answer-from", "session")
        self.assertEqual((other["answered_from"], other["excerpts"]), ("session", []))
        last = self.query("SELECT first_token, end_token FROM read_again WHERE message = (SELECT max(message) FROM read_again) ORDER BY at")
        self.assertEqual([list(tokens) for tokens in last], [p["tokens"] for p in other["reread"]["passages"]])
        self.assertNotEqual(talk()["answer"], other["answer"])
        stored = self.query("SELECT first_token, end_token FROM read_again")
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

    def test_a_question_is_answered_from_sentences_alone_where_something_is_read_again(self):
        self.rereading()
        ask = lambda *more: self.document("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8", *more)["answers"][0]
        answer = ask()
        self.assertEqual(answer["answered_from"], "passages")
        with open(os.path.join(self.folder, "told.txt"), "rb") as file:
            content = file.read()
        self.assertIn("Elias Verrin trimmed the wick", answer["excerpts"][0]["text"])
        for excerpt in answer["excerpts"]:
            self.assertEqual(content[slice(*excerpt["bytes"])].decode(), excerpt["text"])
            self.assertTrue(any(p["bytes"][0] <= excerpt["bytes"][0] and excerpt["bytes"][1] <= p["bytes"][1]
                                for p in answer["reread"]["passages"]))
        # The answer does not depend on the cache: a session that keeps other tokens, by another policy, gives the same one.
        told = os.path.join(self.folder, "told.txt")
        other = lambda origin: self.document("ask", told, "Who trimmed the wick?", "--model", MODEL, "--budget", "240", "--chunk", "16",
                                             "--policy", "streaming", "--max-tokens", "8", "--answer-from", origin)["answers"][0]
        self.assertEqual(other("passages")["excerpts"], [dict(e, document=1) for e in answer["excerpts"]])
        self.assertEqual(other("passages")["text"], answer["text"])
        self.assertNotEqual(other("session")["text"], ask("--answer-from", "session")["text"])
        self.assertEqual(ask("--answer-from", "passages"), answer)
        said = self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8").stderr.decode()
        self.assertRegex(said, r"(?m)^answered from these sentences alone: .*, tokens \d+ to \d+; \d+ tokens in all \(with --answer-from session, ")
        self.assertNotIn("read again", said)
        events = [json.loads(line) for line in self.run_command("ask", "--session", "told", "Who trimmed the wick?", "--max-tokens", "8",
                                                                "--events", "--json").stderr.splitlines()]
        self.assertEqual([e["excerpts"] for e in events if e["event"] == "excerpts"], [answer["excerpts"]])
        # The session answers where it is asked to, where nothing is found, and where each question sees those before it.
        for options in (["--answer-from", "session"], ["--reread", "never"], ["--continue"]):
            other = ask(*options)
            self.assertEqual((other["answered_from"], other["excerpts"]), ("session", []))
        self.assertEqual(self.document("ask", "--session", "told", "who?", "--max-tokens", "8")["answers"][0]["answered_from"], "session")
        said = self.run_command("ask", "--session", "told", "who?", "--max-tokens", "8", "--continue", "--answer-from", "passages")
        self.assertIn("--answer-from passages has no effect with --continue", said.stderr.decode())
        said = self.run_command("ask", "--session", "told", "who?", "--max-tokens", "8", "--answer-from", "passages")
        self.assertIn("nothing was found; the answer comes from what the session holds", said.stderr.decode())
        # An empty session has room where the one that has read the document has none.
        tiny = self.file("tiny.txt", "Elias Verrin trimmed the wick. " + text(12, 1))
        full = lambda origin: self.run_command("ask", tiny, "Who trimmed the wick?", "--model", MODEL, "--policy", "full", "--chunk", "16",
                                               "--max-tokens", "4", "--reread", "always", "--answer-from", origin).stderr.decode()
        self.assertIn("answered from these sentences alone", full("passages"))
        self.assertIn("nothing is read again: the cache has no room for it", full("session"))
        # What was said is in no passage.
        self.document("chat", "--session", "told", "--max-tokens", "8", stdin=b"I, Ludwig, have trimmed the wick.\n")
        about = lambda *more: self.document("ask", "--session", "told", "Where have I trimmed the wick?", "--max-tokens", "8",
                                            *more)["answers"][0]["answered_from"]
        self.assertEqual([ask("--reread", "always")["answered_from"], about(), about("--answer-from", "passages")], ["passages", "session", "passages"])
        self.fails(2, "PAL-OPTION-01", "ask", "--session", "told", "who?", "--answer-from", "memory")

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
        # Those of another encoder are replaced; where that is not possible, it is told.
        encoders = lambda: {encoder for (encoder,) in self.query("SELECT encoder FROM encoded_documents")}
        own = encoders()
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE encoded_documents SET encoder = 'other'")
        with open(self.database + ".lock", "a") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            done = self.run_command("find", "xylophone", "--session", "told")
            self.assertRegex(done.stderr.decode(), r"told is searched by its words alone: .*process")
        self.assertEqual(encoders(), {"other"})
        self.assertNotEqual(find(), [])
        self.assertEqual(encoders(), own)
        # A search in an older database migrates it if something is missing.
        older = os.path.join(self.folder, "older.db")
        shutil.copy(os.path.join(FIXTURES, "..", "databases", "schema-5.db"), older)
        self.assertNotEqual(self.document("find", "xylophone", "--db", older)["passages"], [])
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


if __name__ == "__main__":
    run("__main__")
