#!/usr/bin/env python3
"""Commands on a file system of 32 MiB that fills up at every stage of their work: one sentence, nothing lost, nothing left
behind, and the same command works once there is space. PALIMPSEST_TEST_LEVEL=full: a failure at every page;
PALIMPSEST_SWEEP_PART=k/n: at the k-th of every n.
Usage: full_disk_test.py PALIMPSEST MODEL_FIXTURES"""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

IN_NAMESPACE = "PALIMPSEST_TEST_NAMESPACE"
if IN_NAMESPACE not in os.environ:
    probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=32m", "none", "/mnt"],
                           capture_output=True) if shutil.which("unshare") else None
    if not probe or probe.returncode:
        print("skipped: no file system can be mounted here (%s)" %
              (probe.stderr.decode().strip() if probe else "unshare is not there"))
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "-rm", sys.executable, *sys.argv], dict(os.environ, **{IN_NAMESPACE: "1"}))

from kill_points import NO_STRACE, can_kill, injected, kill_points, spread, traced  # noqa: E402
from patience import PATIENCE  # noqa: E402
from session_harness import AT_CI_LEVEL, FULL, SMALL, ProgramTest, run, text  # noqa: E402
from sweep_part import in_part, sweep_part  # noqa: E402

DISK_BYTES, PAGE = 32 << 20, 8192
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "databases")
WORKING_FILES = re.compile(r"^s\.db(-wal|-shm|\.lock)?$|^backups$")  # what an open database has beside it
REFUSALS = {(4, "PAL-DISK-01"), (4, "PAL-DISK-02")}
FILLER = "filler"


def steps():
    """Free bytes, rising."""
    if FULL:
        return list(range(0, DISK_BYTES, PAGE))
    found, free = [0], PAGE
    while free < DISK_BYTES:
        found.append(free)
        free = free * 4 if AT_CI_LEVEL else free * 3 // 2 // PAGE * PAGE + PAGE
    return found


def stored(database):
    """What is stored of value, as sets of rows without ids and times. Caches are not: they can be computed again."""
    if not os.path.exists(database) or not os.path.getsize(database):
        return set()
    connection = sqlite3.connect(database)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sessions'").fetchall():
            return set()
        rows = []
        for sql in ("SELECT 'session', name FROM sessions",
                    "SELECT 'document', title, kind, idx, document_blocks.hash FROM documents JOIN document_blocks ON "
                    "document = documents.id WHERE complete = 1",
                    "SELECT 'message', name, role, text FROM messages JOIN sessions ON session = sessions.id"):
            rows += connection.execute(sql).fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return set(rows)
    finally:
        connection.close()


class FullDiskTest(ProgramTest):
    outcomes = []  # stage, exit code, sentence without names and sizes, how often

    @classmethod
    def tearDownClass(cls):
        for stage, code, sentence in sorted(set(cls.outcomes)):
            print("%-14s %d  %3d x  %s" % (stage, code, cls.outcomes.count((stage, code, sentence)), sentence))
        print("%d commands met a full disk" % len(cls.outcomes))

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.folder, "disk")
        self.template = os.path.join(self.folder, "template")
        os.mkdir(self.disk)
        os.mkdir(self.template)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", self.disk], check=True)
        self.database = os.path.join(self.disk, "s.db")
        self.book = self.file("book.txt", text(1500, 1))
        self.other = self.file("other.txt", text(9000, 2))

    def tearDown(self):
        subprocess.run(["umount", self.disk], check=True)
        super().tearDown()

    def prepare(self, *commands):
        """Runs commands on a database outside of the small disk, from which each step starts."""
        for command in commands:
            self.run_command(*command, "--db", os.path.join(self.template, "s.db"))

    def prepare_sessions(self):
        self.prepare(["read", self.book, "--session", "one", *SMALL],
                     ["read", self.book, "--session", "two", *SMALL, "--policy", "streaming"],
                     ["ask", "--session", "one", "who?", "--max-tokens", "8"])

    def begin(self):
        for entry in os.listdir(self.disk):
            path = os.path.join(self.disk, entry)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        shutil.copytree(self.template, self.disk, dirs_exist_ok=True)

    def fill(self, free):
        space = os.statvfs(self.disk)
        size = space.f_bavail * space.f_frsize - free
        with open(os.path.join(self.disk, FILLER), "wb") as filler:
            if size > 0:
                os.posix_fallocate(filler.fileno(), 0, size)

    def files(self):
        return {os.path.relpath(os.path.join(folder, name), self.disk)
                for folder, _, names in os.walk(self.disk) for name in names if name != FILLER}

    def execute(self, command, stdin):
        return subprocess.run([self.program, *command], input=stdin, capture_output=True, timeout=PATIENCE,
                              env=self.environment)

    def refused(self, stage, result, free):
        """Records and checks how a command failed."""
        said = result.stderr.decode()
        errors = [line for line in said.splitlines() if line.startswith("palimpsest: ")]
        self.assertEqual(len(errors), 1, (stage, free, result.returncode, said))
        code = re.search(r"\[(PAL-[A-Z]+-\d+)\]$", errors[0])
        self.assertTrue(code, errors[0])
        self.assertIn((result.returncode, code[1]), REFUSALS, (stage, free, said))
        for ending in (".part", ".restoring", ".rescue-"):
            self.assertNotIn(ending, errors[0], "a file that the user has not named")
        sentence = errors[0].removeprefix("palimpsest: ").replace(self.disk, "DISK")
        self.outcomes.append((stage, result.returncode, sentence))

    def sweep(self, stage, *command, stdin=b"", made=None, database=True):
        """`made`: file that the command makes, and that no failure may leave."""
        command = [*command, *(["--db", self.database] if database else [])]
        self.begin()
        before, files_before = stored(self.database), self.files()
        whole = self.execute(command, stdin)
        self.assertEqual(whole.returncode, 0, whole.stderr.decode())
        expected, files_expected = stored(self.database), self.files()
        failures = 0
        for free in [*in_part(steps()), DISK_BYTES]:
            self.begin()
            self.fill(free)
            result = self.execute(command, stdin)
            os.remove(os.path.join(self.disk, FILLER))
            if result.returncode == 0:
                self.assertEqual(stored(self.database), expected, (stage, free))
                self.assertEqual({f for f in self.files() - files_expected if not WORKING_FILES.match(f)}, set(), (stage, free))
                break
            failures += 1
            self.refused(stage, result, free)
            left = {f for f in self.files() - files_before if not WORKING_FILES.match(f)}
            left -= {f for f in left if f.startswith("backups/") and f.endswith(".db") and self.is_sound(f)}
            self.assertEqual(left, set(), (stage, free))
            self.assertLessEqual(before, stored(self.database), (stage, free))
            if made:
                self.assertFalse(os.path.exists(made), (stage, free))
            again = self.execute(command, stdin)
            self.assertEqual(again.returncode, 0, (stage, free, again.stderr.decode()))
            self.assertEqual(self.without_retries(stored(self.database), stdin),
                             self.without_retries(expected, stdin), (stage, free))
        else:
            self.fail("%s never succeeds" % stage)
        if sweep_part()[0] == 1:  # the first position is a disk without space
            self.assertGreater(failures, 0, stage)

    @staticmethod
    def without_retries(rows, stdin):
        """A message that was stored before the disk was full may be answered twice."""
        return {row for row in rows if row[0] != "message"} if stdin else rows

    def is_sound(self, name):
        connection = sqlite3.connect("file:%s?mode=ro&immutable=1" % os.path.join(self.disk, name), uri=True)
        try:
            return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        finally:
            connection.close()

    def test_creating_the_database(self):
        self.sweep("create", "library", "add", self.book, *SMALL[:2])

    def test_adding_a_document(self):
        self.prepare_sessions()
        self.sweep("library add", "library", "add", self.other, *SMALL[:2])

    def test_reading_a_book_and_saving_its_state(self):
        self.prepare_sessions()
        self.sweep("read", "read", self.other, "--session", "new", *SMALL, "--checkpoint-seconds", "0")

    def test_asking_writes_nothing_and_so_works(self):
        self.prepare_sessions()
        self.begin()
        self.fill(0)
        result = self.execute(["ask", "--session", "one", "what?", "--max-tokens", "8", "--db", self.database], b"")
        self.assertEqual(result.returncode, 0, result.stderr.decode())

    def test_chatting(self):
        self.prepare_sessions()
        self.sweep("chat", "chat", "--session", "one", "--max-tokens", "8", stdin=b"hello\n")

    def test_backing_up(self):
        self.prepare_sessions()
        copy = os.path.join(self.disk, "copy.db")
        self.sweep("backup", "sessions", "backup", copy, made=copy)

    def test_restoring(self):
        self.prepare_sessions()
        self.prepare(["sessions", "backup", os.path.join(self.template, "given.db")])
        self.prepare(["read", self.book, "--session", "three", *SMALL])
        self.sweep("restore", "sessions", "restore", os.path.join(self.disk, "given.db"))

    def contents(self):
        found = {}
        for name in self.files() - {"s.db.lock"}:  # which names the last owner
            with open(os.path.join(self.disk, name), "rb") as file:
                found[name] = file.read()
        return found

    def prepare_damage(self):
        """On a disk with the space that a rescue asks for. Its first rescue leaves a database that is kept aside."""
        subprocess.run(["mount", "-o", "remount,size=128m", self.disk], check=True)
        self.prepare_sessions()
        for pin in (1, 2):
            connection = sqlite3.connect(os.path.join(self.template, "s.db"))
            connection.execute("INSERT INTO pins(session, first, last) VALUES(999, ?, 9)", (pin,))  # of no session
            connection.commit()
            connection.close()
            if pin == 1:
                self.prepare(["sessions", "rescue"])
        self.begin()

    def assert_nothing_changed(self, stage, result, before, point):
        self.refused(stage, result, point)
        error = next(line for line in result.stderr.decode().splitlines() if line.startswith("palimpsest: "))
        self.assertIn(self.database, error, point)
        self.assertEqual(self.contents(), before, point)

    def test_rescuing_without_the_space_for_it(self):
        self.prepare_damage()
        before, size = self.contents(), os.path.getsize(self.database)
        for free in (0, PAGE, size, 2 * size, 2 * size + (32 << 20)):
            self.fill(free)
            result = self.execute(["sessions", "rescue", "--db", self.database], b"")
            os.remove(os.path.join(self.disk, FILLER))
            self.assert_nothing_changed("rescue", result, before, free)
        self.run_command("sessions", "rescue", "--db", self.database)

    @unittest.skipUnless(can_kill(), NO_STRACE)
    def test_rescuing_while_another_program_fills_the_disk(self):
        self.prepare_damage()
        command = [self.program, "sessions", "rescue", "--db", self.database]
        before = self.contents()
        points = [point for point in kill_points(command, self.environment)[0]
                  if point.path.startswith(self.disk) and not point.path.endswith(".lock")
                  and point.name in ("write", "pwrite64", "sendfile", "copy_file_range")]
        after = stored(self.database)
        self.assertGreater(len(points), 50)
        for point in in_part(spread(points, 4 if AT_CI_LEVEL else 200 if FULL else 24)):
            self.begin()
            # A failed write ends the rescue, and then the error is written; SQLite may try again.
            fault = "%s:error=ENOSPC:when=%d%s" % (point.name, point.count, "" if point.name == "write" else "+")
            result = subprocess.run(["strace", "-qq", "-o", os.devnull, "-e", "trace=" + point.name, *injected([fault]), *command],
                                    env=traced(self.environment), capture_output=True, timeout=PATIENCE)
            self.assert_nothing_changed("rescue, later", result, before, point)
            self.run_command(*command[1:])
            self.assertEqual(stored(self.database), after, point)

    def test_exporting(self):
        self.prepare_sessions()
        exported = os.path.join(self.disk, "one.palimpsest")
        self.sweep("export", "sessions", "export", "one", exported, made=exported)

    def test_importing(self):
        self.prepare_sessions()
        exported = os.path.join(self.folder, "one.palimpsest")
        self.prepare(["sessions", "export", "one", exported], ["sessions", "rm", "one"])
        self.sweep("import", "sessions", "import", exported)

    def test_migrating(self):
        for version in (1, 7) if not FULL else range(1, 8):
            shutil.copy(os.path.join(SAMPLES, "schema-%d.db" % version), os.path.join(self.template, "s.db"))
            os.chmod(os.path.join(self.template, "s.db"), 0o600)
            self.sweep("migrate %d" % version, "sessions", "fork", "book", "third")

    def test_collecting_caches(self):
        self.prepare_sessions()
        size = self.document("sessions", "gc", "--max-size", "1GB", "--db", os.path.join(self.template, "s.db"))["bytes"]
        self.sweep("gc", "sessions", "gc", "--max-size", "%d B" % (size - PAGE))

    def test_writing_a_transcript(self):
        self.prepare(["chat", "--session", "one", *SMALL, "--max-tokens", "4"])
        self.prepare_sessions()
        written = os.path.join(self.disk, "one.html")
        self.sweep("transcript", "sessions", "transcript", "one", "-o", written, made=written)

    def test_exporting_a_document(self):
        self.prepare_sessions()
        written = os.path.join(self.disk, "book.txt")
        self.sweep("library export", "library", "export", "book", written, made=written)

    def test_renaming(self):
        self.prepare_sessions()
        self.sweep("rename", "sessions", "rename", "two", "other")

    def test_forking(self):
        self.prepare_sessions()
        self.sweep("fork", "sessions", "fork", "two", "other")

    def test_stripping(self):
        self.prepare_sessions()
        self.sweep("strip", "sessions", "strip", "two")

    def test_deleting(self):
        self.prepare_sessions()
        self.sweep("rm", "sessions", "rm", "two")


if __name__ == "__main__":
    run("__main__")
