#!/usr/bin/env python3
"""Kills commands that change what is stored, just before a system call that writes: nothing that was reported is lost, what
was being done is there wholly or not at all, and the same command then ends as if nothing had happened.
PALIMPSEST_TEST_LEVEL=full: a kill at every such call; PALIMPSEST_SWEEP_PART=k/n: at the k-th of every n.
Usage: killed_store_test.py PALIMPSEST MODEL_FIXTURES"""
import hashlib
import json
import os
import re
import shutil
import sqlite3
import sys
import unittest

from kill_points import GIVING_NAMES, NO_STRACE, can_kill, kill_at, kill_points, spread
from session_harness import AT_CI_LEVEL, FULL, PROGRAM, SMALL, ProgramTest, run, text
from sweep_part import in_part

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "databases")
# What is stored of value, each row behind the name of the session or document that it belongs to. Row ids and times are
# left out. Databases of older schemas lack some of the tables.
VALUES = {
    "sessions": "SELECT name, 'session', options FROM sessions",
    "messages": "SELECT name, role, state, text, ids FROM messages JOIN sessions ON sessions.id = session",
    "pins": "SELECT name, 'pin', first, last FROM pins JOIN sessions ON sessions.id = session",
    "stream": "SELECT name, 'stream', idx, tokens, ids FROM stream JOIN sessions ON sessions.id = session",
    "notes": "SELECT name, 'note', first_token, text FROM notes JOIN sessions ON sessions.id = session",
    "provenance": "SELECT name, 'provenance', data FROM provenance JOIN messages ON messages.id = message "
                  "JOIN sessions ON sessions.id = session",
    "snapshots": "SELECT name, 'checkpoint', tokens_seen, header FROM snapshots JOIN sessions ON sessions.id = session "
                 "WHERE complete = 1",
    "fading": "SELECT name, 'fading', idx, data FROM fading JOIN sessions ON sessions.id = session",
    "sections": "SELECT documents.title, 'section', idx, sections.title, first_byte FROM sections JOIN documents ON "
                "documents.id = document WHERE complete = 1 AND EXISTS (SELECT 1 FROM stream WHERE stream.document = documents.id)",
    "document_blocks": "SELECT title, kind, idx, data FROM document_blocks JOIN documents ON documents.id = document "
                       "WHERE complete = 1 AND EXISTS (SELECT 1 FROM stream WHERE stream.document = documents.id)",
    "library": "SELECT title, kind, idx, data FROM document_blocks JOIN documents ON documents.id = "
               "document_blocks.document JOIN library ON library.document = documents.id",
}
WORD = "zanzibar"  # stands in one message


def brief(value):
    return hashlib.md5(value).hexdigest() if isinstance(value, bytes) else value


def stored(database):
    """The rows of VALUES, and the schema's version. Looks at a copy, so that the program itself is the first to open what a
    killed one has left."""
    if not os.path.exists(database):
        return frozenset()
    copy = database + " to look at"
    for ending in ("", "-wal", "-journal"):
        if os.path.exists(database + ending):
            shutil.copy(database + ending, copy + ending)
    connection = sqlite3.connect(copy)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = {name for name, in connection.execute("SELECT name FROM sqlite_schema")}
        rows = [tuple(map(brief, row)) for table, sql in VALUES.items() if table in tables for row in connection.execute(sql)]
        return frozenset(rows + [("schema", *row) for row in connection.execute("PRAGMA user_version") if tables])
    finally:
        connection.close()
        for ending in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(copy + ending):
                os.remove(copy + ending)


def count_rows(database):
    """The number of rows of every table. REQUIRES: the program has closed the database in good order."""
    connection = sqlite3.connect(database)
    try:
        tables = [name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute("SELECT count(*) FROM " + name).fetchone()[0]
                for name in tables if not name.startswith(("sqlite_", "passage_texts_"))}
    finally:
        connection.close()


def choose(points):
    """Points where files get and lose their names, which are few, and as many others at most."""
    if FULL:
        return points
    count = 2 if AT_CI_LEVEL else 16
    naming = [point for point in points if point.name in GIVING_NAMES]
    return spread(naming, count) + spread([point for point in points if point not in naming], count)


def asides(files):
    """Those that a restore has set aside: one more for each that came to its end."""
    return {name for name in files if name.startswith("s-aside-")}


def parts(rows):
    """The rows of each session and document."""
    found = {}
    for row in rows:
        found.setdefault(row[0], set()).add(row)
    return found


class KilledStoreTest(ProgramTest):
    kills = 0

    @classmethod
    def tearDownClass(cls):
        print("%d kills" % cls.kills)

    def setUp(self):
        super().setUp()
        self.template = os.path.join(self.folder, "template")
        self.place = os.path.join(self.folder, "place")
        os.mkdir(self.template)
        self.database = os.path.join(self.place, "s.db")
        self.book = self.file("book.txt", text(1500, 1))
        # A writing command that changes nothing, whatever is stored.
        self.other = ["sessions", "gc", "--max-size", "1TB", "--db", self.database]

    def prepare(self, *commands):
        """Runs commands on the database from which each kill starts."""
        for command in commands:
            self.run_command(*command, "--db", os.path.join(self.template, "s.db"))

    def prepare_sessions(self):
        database = os.path.join(self.template, "s.db")
        self.prepare(["read", self.book, "--session", "one", *SMALL, "--notes", "--pin", "3-9"],
                     ["read", self.file("other.txt", text(300, 2)), "--session", "two", *SMALL, "--notes", "--pin", "5-6"])
        self.run_command("chat", "--session", "two", "--max-tokens", "8", "--db", database, stdin=WORD.encode() + b"\n")
        self.run_command("chat", "--session", "one", "--max-tokens", "8", "--db", database, stdin=b"who wrote?\n")
        self.make_backups()

    def make_backups(self):
        """Backups of all that has been prepared: a writer makes them if there are none of this day."""
        shutil.rmtree(os.path.join(self.template, "backups"))
        self.prepare(["sessions", "gc", "--max-size", "1TB"])

    def begin(self):
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.template, self.place)

    def files(self):
        return {os.path.relpath(os.path.join(folder, name), self.place)
                for folder, _, names in os.walk(self.place) for name in names}

    def assert_opens(self, rows, point):
        """The program opens what is stored, and finds every session valid."""
        if not os.path.exists(self.database):
            return
        for name in {row[0] for row in rows if row[1] == "session"}:
            self.assertTrue(self.document("sessions", "verify", name, "--db", self.database)["valid"], point)

    def assert_one_of(self, rows, before, after, in_parts, point):
        """Nothing of the command was done, or all of it; for each session or document on its own if `in_parts`."""
        if not in_parts:
            return self.assertEqual(min((rows ^ before, rows ^ after), key=len), frozenset(), point)
        rows, before, after = parts(rows), parts(before), parts(after)
        for name in before.keys() | after.keys() | rows.keys():
            self.assertIn(rows.get(name), (before.get(name), after.get(name)), (point, name))

    def end_state(self):
        """What is stored once a writer has come and gone; a file that was set aside more often than once is no other state."""
        self.run_command(*self.other)
        return stored(self.database), count_rows(self.database), self.files() - asides(self.files())

    def sweep(self, *command, refusal=None, is_done=None, in_parts=False, looks_at_once=True, reported=None, at_end=None,
              faults=()):
        """`refusal`: exit code and error of the command once it is done, which `is_done` tells. `looks_at_once`: every reader
        sees what is stored before a writer has opened it. `reported`: checks what is stored after the kill against what the
        program said before it. `at_end`: checks what is in the files at last."""
        command = [PROGRAM, *command, "--db", self.database]
        self.begin()
        before = stored(self.database)
        points, _ = kill_points(command, self.environment, faults)
        after = stored(self.database)
        expected = self.end_state()
        chosen = in_part(list(enumerate(choose(points))))
        for number, point in chosen:
            self.begin()
            said, rows = kill_at(point, command, self.environment, faults), None
            if number % 2:
                self.run_command(*self.other)
            if number % 2 or looks_at_once:
                rows = stored(self.database)
                self.assert_one_of(rows, before, after, in_parts, point)
                self.assert_opens(rows, point)
                reported and reported(said, rows)
            done = refusal and (is_done() if is_done else rows == after)
            self.assert_repeated(command, refusal if done else None, point)
            self.assertEqual(self.end_state(), expected, point)
            at_end and at_end()
            self.assert_opens(after, point)
        KilledStoreTest.kills += len(chosen)
        print("%s: killed at %d of %d calls" % (" ".join(command[1:3]), len(chosen), len(points)))

    def assert_repeated(self, command, refusal, point):
        """`refusal`: exit code and error, if the command was done and cannot be done twice."""
        status, code = refusal or (0, "")
        self.assertIn(code, self.run_command(*command[1:], status=status).stderr.decode(), point)

    def test_adding_documents(self):
        books = os.path.join(self.folder, "books")
        os.mkdir(books)
        for number in (1, 2, 3):
            self.file("books/%d.txt" % number, text(200, number))
        self.file("books/4.html", "<title>4</title><h1>Oars</h1><p>" + text(200, 4) + "</p><h2>Ash</h2><p>ash and elm</p>")

        def reported(said, rows):
            for title in re.findall(r"\] (\d): added", said):
                self.assertIn(title, parts(rows))

        self.sweep("library", "add", books, *SMALL[:2], in_parts=True, reported=reported)
        self.prepare_sessions()
        self.sweep("library", "add", books, *SMALL[:2], in_parts=True, reported=reported)

    def test_importing_a_session(self):
        self.prepare_sessions()
        exported = os.path.join(self.folder, "one.palimpsest")
        self.prepare(["sessions", "export", "one", exported], ["sessions", "rm", "one"])
        self.sweep("sessions", "import", exported)  # once more, it is found to be there

    def test_backing_up(self):
        self.prepare_sessions()
        copy = os.path.join(self.place, "copy.db")
        self.sweep("sessions", "backup", copy, refusal=(1, "PAL-DISK-03"), is_done=lambda: os.path.exists(copy),
                   reported=lambda said, rows: self.assertIn(stored(copy), (frozenset(), rows)))

    def test_exporting(self):
        self.prepare_sessions()
        made = os.path.join(self.place, "made")
        for command in (["sessions", "export", "one"], ["sessions", "transcript", "one", "-o"], ["library", "export", "book"]):
            self.sweep(*command, made, refusal=(1, "PAL-DISK-03"), is_done=lambda: os.path.exists(made))

    def test_migrating(self):
        for version in range(1, 8) if FULL else (1, 7):
            shutil.copy(os.path.join(SAMPLES, "schema-%d.db" % version), os.path.join(self.template, "s.db"))
            os.chmod(os.path.join(self.template, "s.db"), 0o600)
            self.sweep(*self.other[:-2])

    def test_freeing_caches(self):
        self.prepare_sessions()
        self.begin()
        least = self.run_command("sessions", "gc", "--max-size", "1 B", "--db", self.database, "--json", status=1)

        def reported(said, rows):
            for name in re.findall(r"\] (\w+): its cache is freed", said):
                self.assertNotIn("checkpoint", {row[1] for row in parts(rows)[name]})

        self.sweep("sessions", "gc", "--max-size", "%d B" % json.loads(least.stdout)["bytes"], in_parts=True, reported=reported)

    def test_deleting_a_session(self):
        self.prepare_sessions()
        self.sweep_deletion("sessions", "rm", "two", code="PAL-SESSION-01", word=WORD)

    def test_deleting_a_document(self):
        self.prepare_sessions()
        secret = self.file("secret.txt", "xylophone\n" + text(200, 3))
        self.prepare(["library", "add", secret, *SMALL[:2]], ["library", "search", "xylophone"])
        self.make_backups()
        self.sweep_deletion("library", "rm", "secret", code="PAL-DOC-00", word="xylophone")

    def sweep_deletion(self, *command, code, word):
        """Deletes the last argument, which alone has this word."""
        self.begin()
        self.assertNotEqual(self.holders(word), set())
        self.assertGreater(len(self.holders_of_rows(command[-1])), 1, "no backup has it")

        def is_erased():
            self.assertEqual(self.holders(word) | self.holders_of_rows(command[-1]), set())

        self.sweep(*command, refusal=(3, code), at_end=is_erased)

    def holders(self, word):
        found = set()
        for name in self.files():
            with open(os.path.join(self.place, name), "rb") as file:
                if word.encode() in file.read():
                    found.add(name)
        return found

    def holders_of_rows(self, name):
        databases = {file for file in self.files() if file.endswith(".db")}
        return {file for file in databases if name in parts(stored(os.path.join(self.place, file)))}

    def test_restoring(self):
        self.sweep_restoring()

    def test_restoring_without_hard_links(self):
        self.sweep_restoring("link:error=EPERM", "linkat:error=EPERM")

    def sweep_restoring(self, *faults):
        self.prepare_sessions()
        self.prepare(["sessions", "backup", os.path.join(self.template, "given.db")])
        self.prepare(["sessions", "rename", "two", "second"])
        self.leave_a_log()
        current, given = (stored(os.path.join(self.template, name)) for name in ("s.db", "given.db"))

        self.sweep("sessions", "restore", os.path.join(self.place, "given.db"), looks_at_once=False, faults=faults,
                   at_end=lambda: self.assert_kept_aside(current),
                   reported=lambda said, rows: self.assertIn(rows, (given,) if "are back" in said else (current, given)))

    def assert_kept_aside(self, rows):
        found = {name for name in asides(self.files()) if name.endswith(".db")}
        self.assertIn(rows, [stored(os.path.join(self.place, name)) for name in found])

    def test_rescuing(self):
        self.prepare_sessions()
        connection = sqlite3.connect(os.path.join(self.template, "s.db"))
        connection.execute("INSERT INTO pins(session, first, last) VALUES(999, 1, 2)")  # of no session: only that is lost
        connection.commit()
        connection.close()
        self.leave_a_log()
        current = stored(os.path.join(self.template, "s.db"))
        self.sweep("sessions", "rescue", looks_at_once=False, at_end=lambda: self.assert_kept_aside(current))

    def leave_a_log(self):
        """Kills a command before it copies its log into the database."""
        self.begin()
        command = [PROGRAM, "sessions", "rename", "one", "first", "--db", self.database]
        point = next(p for p in kill_points(command, self.environment)[0] if p.path == self.database)
        self.begin()
        kill_at(point, command, self.environment)
        shutil.rmtree(self.template)
        shutil.copytree(self.place, self.template)
        self.assertGreater(os.path.getsize(self.database + "-wal"), 0)


if __name__ == "__main__":
    if not can_kill():
        print("skipped: " + NO_STRACE)
        sys.exit(77)
    run("__main__")
