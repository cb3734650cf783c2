#!/usr/bin/env python3
"""The library: folders of documents are stored once, listed, searched, read, exported and deleted.
Usage: library_process_test.py PALIMPSEST MODEL_FIXTURES"""
import array
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import termios
import unittest

from patience import PATIENCE, wait_until
from session_harness import MODEL, SMALL, SessionTest, Terminal, run, text

WITH_MODEL = ["--model", MODEL]


def unread_bytes(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def files_open_in(process):
    folder = "/proc/%d/fd" % process.pid
    found = []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(os.path.join(folder, name)))
        except FileNotFoundError:  # it was closed meanwhile
            pass
    return found


class LibraryTest(SessionTest):
    def setUp(self):
        super().setUp()
        self.books = os.path.join(self.folder, "books")
        os.makedirs(os.path.join(self.books, "old"))
        self.write("chapter 10.txt", "the tenth chapter of the lamp\n" + text(300, 10))
        self.write("chapter 2.txt", "the second chapter of the lamp\n" + text(300, 2))
        self.write("old/harbour.html", "<html lang='en'><title>The Harbour</title><meta name='author' content='Ada Brennan'>"
                   "<body><h1>Oars</h1><p>" + text(300, 3) + "</p><h2>Of &lt;ash&gt;</h2><p>ash and elm</p></body></html>")
        self.write("cover.jpg", "\xff\xd8")

    def write(self, name, content):
        with open(os.path.join(self.books, name), "w") as out:
            out.write(content)

    def library(self, *arguments, **more):
        return self.document("library", *arguments, **more)

    def listed(self):
        return self.library("list")["documents"]

    def test_a_folder_is_added_once(self):
        added = self.library("add", self.books, *WITH_MODEL)
        self.assertEqual([d["title"] for d in added["documents"]], ["chapter 2", "chapter 10", "The Harbour"])
        self.assertEqual([d["added"] for d in added["documents"]], [True] * 3)
        self.assertEqual((added["failed"], added["other_files"], added["interrupted"]), ([], 1, False))
        self.assertEqual((added["documents"][2]["author"], added["documents"][2]["format"],
                          added["documents"][2]["language"]), ("Ada Brennan", "HTML", "en"))
        self.assertTrue(all(d["in_library"] and d["sessions"] == [] for d in added["documents"]))
        again = self.library("add", self.books, *WITH_MODEL)
        self.assertEqual([d["added"] for d in again["documents"]], [False] * 3)
        self.assertEqual(self.listed(), [{k: v for k, v in d.items() if k not in ("file", "added")}
                                         for d in added["documents"]])
        said = self.run_command("library", "add", self.books, *WITH_MODEL).stderr.decode()
        self.assertIn("[3/3] The Harbour: is in the library already", said)
        self.assertIn("1 file in the folders is no document", said)

    def test_a_file_that_fails_keeps_no_other_out(self):
        self.write("bad.pdf", "%PDF-1.4 cut")
        result = self.run_command("library", "add", self.books, *WITH_MODEL, status=1)
        said = result.stderr.decode()
        self.assertIn("bad.pdf: it is damaged", said)
        self.assertIn("1 of 4 files could not be added", said)
        self.assertEqual(len(self.listed()), 3)
        self.fails(1, "PAL-DOC-10", "library", "add", os.path.join(self.books, "bad.pdf"), *WITH_MODEL)
        self.fails(3, "PAL-DOC-00", "library", "add", os.path.join(self.books, "none.txt"), *WITH_MODEL)
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        self.fails(3, "PAL-DOC-00", "library", "add", empty, *WITH_MODEL)

    def test_a_duplicate_is_said_to_be_one(self):
        self.run_command("library", "add", os.path.join(self.books, "chapter 2.txt"), *WITH_MODEL)
        copy = shutil.copy(os.path.join(self.books, "chapter 2.txt"), os.path.join(self.folder, "copy.txt"))
        said = self.run_command("library", "add", copy, *WITH_MODEL).stderr.decode()
        self.assertIn("copy.txt has the same content as", said)
        self.assertEqual(len(self.listed()), 1)
        self.assertEqual(len(self.listed()[0]["sources"]), 2)

    def test_a_library_document_is_shown_searched_and_exported(self):
        self.run_command("library", "add", self.books, *WITH_MODEL)
        shown = self.library("show", "The Harbour")
        self.assertEqual([s["title"] for s in shown["sections"]], ["Oars", "Of <ash>"])
        self.assertEqual(self.library("show", str(shown["document"])), shown)
        self.assertEqual(self.library("show", os.path.join(self.books, "old", "harbour.html")), shown)
        self.assertIn("did you mean 'The Harbour'", self.fails(3, "PAL-DOC-00", "library", "show", "The Harbor"))
        found = self.library("search", "elm")
        self.assertEqual([(p["title"], p["section"]) for p in found["passages"]], [("The Harbour", "Of <ash>")])
        self.assertEqual(self.library("search", "tenth lamp")["passages"][0]["title"], "chapter 10")
        self.assertIn("nothing was found", self.run_command("library", "search", "zebra").stderr.decode())
        target = os.path.join(self.folder, "out.txt")
        self.run_command("library", "export", "chapter 2", target)
        with open(os.path.join(self.books, "chapter 2.txt"), "rb") as source, open(target, "rb") as written:
            content = source.read()
            self.assertEqual(written.read(), content)
        self.fails(1, "PAL-DISK-03", "library", "export", "chapter 2", target)
        self.assertEqual(self.run_command("library", "export", "chapter 2", "-").stdout, content)

    def test_right_to_left_titles_reorder_nothing_around_them_on_a_terminal(self):
        title = "\u05e1\u05e4\u05e8"
        self.write(title + ".txt", "the zebra of the lamp\n")
        self.library("add", os.path.join(self.books, title + ".txt"), *WITH_MODEL)
        for command in (["find"], ["library", "search"]):
            self.assertTrue(self.run_command(*command, "zebra").stdout.decode().startswith(title + ", tokens 0 to "))
            terminal = Terminal(self.environment, *command, "zebra")
            terminal.wait_for(f"\u2068{title}\u2069, tokens 0 to ".encode())
            terminal.end_with(0)

    def test_messages_are_searched_with_the_documents(self):
        self.run_command("chat", "--session", "talk", *SMALL, "--max-tokens", "4", stdin=b"where is the zebra?\n")
        found = self.library("search", "zebra")
        self.assertEqual([(m["session"], m["role"], m["text"]) for m in found["messages"]],
                         [("talk", "user", "where is the zebra?")])
        self.assertIn("session talk", self.run_command("library", "search", "zebra").stdout.decode())

    def test_documents_stay_as_long_as_library_or_session_has_them(self):
        self.run_command("library", "add", self.books, *WITH_MODEL)
        shutil.rmtree(self.books)
        self.run_command("read", "--document", "chapter 10", "--document", "The Harbour", "--session", "s", *SMALL)
        self.assertEqual([d["title"] for d in self.document("sessions", "show", "s")["documents"]],
                         ["chapter 10", "The Harbour"])
        self.fails(3, "PAL-DB-00", "library", "rm", "chapter 10", "--db", os.path.join(self.folder, "none.db"))
        said = self.run_command("library", "rm", "chapter 10", "chapter 2").stderr.decode()
        self.assertIn("chapter 2: deleted for good", said)
        self.assertIn("chapter 10 stays stored for session 's'", said)
        # The session's second document has other ids than one that begins a session, so it is a copy of its own.
        self.assertEqual([(d["title"], d["in_library"], d["sessions"]) for d in self.listed()],
                         [("chapter 10", False, ["s"]), ("The Harbour", True, []), ("The Harbour", False, ["s"])])
        self.assertIn("but of a session", self.fails(1, "PAL-DOC-00", "library", "rm", "chapter 10"))
        self.run_command("sessions", "rm", "s")
        self.assertEqual([d["title"] for d in self.listed()], ["The Harbour"])
        self.run_command("read", "--document", "The Harbour", "--session", "t", *SMALL)
        self.run_command("sessions", "verify", "t")

    def test_nothing_to_read_is_refused(self):
        self.fails(2, "PAL-OPTION-01", "read", "--session", "s", *SMALL)
        self.fails(3, "PAL-DOC-00", "read", "--document", "none", "--session", "s", *SMALL)
        self.assertEqual(self.document("sessions", "list")["sessions"], [])

    def test_a_document_of_another_model_is_tokenized_again(self):
        self.run_command("library", "add", os.path.join(self.books, "chapter 2.txt"), *WITH_MODEL)
        other = os.path.join(os.path.dirname(MODEL), "llama3-scaled.f16.gguf")
        alone = os.path.join(self.folder, "alone.db")
        self.run_command("read", "--document", "chapter 2", "--session", "s", "--model", other, *SMALL[2:])
        self.run_command("read", os.path.join(self.books, "chapter 2.txt"), "--session", "s", "--model", other, *SMALL[2:],
                         "--db", alone)
        self.assertEqual(self.state("s"), self.state("s", alone))
        self.assertEqual([d["sessions"] for d in self.listed()], [[], ["s"]])
        self.library("show", "chapter 2")  # copies for two models have one name
        self.assertEqual(self.library("search", "second chapter")["passages_found"], 1)

    def test_stored_documents_are_read_as_their_files_would_be(self):
        names = [os.path.join(self.books, name) for name in ("chapter 10.txt", "chapter 2.txt")]
        alone = os.path.join(self.folder, "alone.db")
        self.run_command("read", *names, "--session", "s", *SMALL, "--db", alone)
        self.run_command("library", "add", *reversed(names), *WITH_MODEL)
        self.run_command("read", "--document", "chapter 10", "--document", "chapter 2", "--session", "s", *SMALL)
        self.assertEqual(self.state("s"), self.state("s", alone))
        self.run_command("read", "--document", "chapter 2", "--session", "s")
        self.assertEqual(self.state("s"), self.state("s", alone))

    def test_files_and_stored_documents_are_read_in_the_order_given(self):
        names = [os.path.join(self.books, name) for name in ("chapter 10.txt", "chapter 2.txt", "old/harbour.html")]
        self.run_command("library", "add", *names, *WITH_MODEL)
        self.run_command("read", "--document", "chapter 10", names[1], "--document", "The Harbour", "--session", "s", *SMALL)
        self.assertEqual([d["title"] for d in self.document("sessions", "show", "s")["documents"]],
                         ["chapter 10", "chapter 2", "The Harbour"])
        alone = os.path.join(self.folder, "alone.db")
        self.run_command("read", *names, "--session", "s", *SMALL, "--db", alone)
        self.assertEqual(self.state("s"), self.state("s", alone))
        printed = self.library("add", names[2], names[0], names[1], *WITH_MODEL)["documents"]
        self.assertEqual([d["title"] for d in printed], ["The Harbour", "chapter 10", "chapter 2"])

    def test_a_title_that_is_another_documents_number_is_not_guessed(self):
        self.write("1.txt", "one\n" + text(60, 1))
        self.write("2.txt", "two\n" + text(60, 2))
        self.run_command("library", "add", os.path.join(self.books, "2.txt"), os.path.join(self.books, "1.txt"), *WITH_MODEL)
        self.assertIn("it is the number of", self.fails(2, "PAL-OPTION-03", "library", "rm", "2"))
        self.run_command("library", "rm", os.path.join(self.books, "2.txt"))
        self.assertEqual([d["title"] for d in self.listed()], ["1"])

    def test_what_is_shown_is_one_line_for_each_document_and_controls_nothing(self):
        self.write("one\n9\tfake.txt", "one\n" + text(60, 1))
        self.run_command("library", "add", os.path.join(self.books, "one\n9\tfake.txt"), *WITH_MODEL)
        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute("INSERT INTO metadata(document, format, author, language) SELECT id, ?, ?, '' FROM documents",
                               ("TXT\x1b]0;owned\x07", "a\nb"))
        connection.close()
        for command in (["list"], ["show", "1"]):
            shown = self.run_command("library", *command).stdout
            self.assertNotIn(b"\x1b", shown)
            self.assertNotIn(b"\x07", shown)
        self.assertEqual(len(self.run_command("library", "list").stdout.splitlines()), 1)

    def test_a_search_says_what_it_leaves_out(self):
        self.run_command("library", "add", self.books, *WITH_MODEL)
        for name in ("a", "b", "c"):
            self.run_command("chat", "--session", name, *SMALL, "--max-tokens", "2", stdin=b"a zebra?\n")
        found = self.library("search", "zebra", "--limit", "2")
        self.assertEqual((len(found["messages"]), found["messages_found"]), (2, 3))
        said = self.run_command("library", "search", "zebra", "--limit", "2").stderr.decode()
        self.assertIn("2 of 3 messages are shown", said)
        said = self.run_command("library", "search", "tenth elm").stderr.decode()
        self.assertIn("no passage has all of the words", said)
        self.fails(2, "PAL-OPTION-03", "library", "search", "!!!")

    def test_two_documents_of_one_title_need_a_number(self):
        self.write("old/chapter 2.txt", "another second chapter\n")
        self.run_command("library", "add", self.books, *WITH_MODEL)
        self.assertIn("several documents have this title", self.fails(2, "PAL-OPTION-03", "library", "show", "chapter 2"))

    def test_an_addition_that_is_stopped_goes_on_later(self):
        pipe = os.path.join(self.books, "chapter 11.txt")
        os.mkfifo(pipe)  # waits for a writer; in a folder it would be left out
        names = [os.path.join(self.books, name) for name in ("chapter 2.txt", "chapter 10.txt")]
        process = self.start("library", "add", *names, pipe, os.path.join(self.books, "old"), *WITH_MODEL)
        line = process.stderr.readline() + process.stderr.readline()
        self.assertIn(b"[2/4] chapter 10: added", line)
        with open(pipe, "wb", buffering=0) as writer:
            writer.write(b"words that nothing follows")
            wait_until(lambda: unread_bytes(writer) == 0)  # the program waits for more
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=PATIENCE)
            self.assertIn(b"stopped after 2 of 4 files, which are stored", rest)
        self.assertEqual(process.returncode, 130)
        process = self.start("library", "add", names[0], pipe, *names, "--json", *WITH_MODEL)
        with open(pipe, "wb"):
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130)
        result = json.loads(printed)
        self.assertTrue(result["interrupted"])
        self.assertEqual([(d["title"], d["added"]) for d in result["documents"]], [("chapter 2", False)])
        process = self.start("library", "add", pipe, *WITH_MODEL)  # nothing writes into the pipe
        wait_until(lambda: pipe in files_open_in(process))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130)
        os.remove(pipe)
        self.assertEqual([d["added"] for d in self.library("add", self.books, *WITH_MODEL)["documents"]],
                         [False, False, True])


if __name__ == "__main__":
    run("__main__")
