"""Shared by the session tests: each test has its own folder, runs the program in it and can query its database."""
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from kill_points import can_kill, traced
from own_environment import own_environment
from patience import PATIENCE, wait_until

PROGRAM, FIXTURES = sys.argv[1], sys.argv[2]
MODEL = os.path.join(FIXTURES, "llama.f32.gguf")
FULL = os.environ.get("PALIMPSEST_TEST_LEVEL") == "full"  # before a release
AT_CI_LEVEL = os.environ.get("PALIMPSEST_TEST_LEVEL") == "ci"  # for programs under sanitizers, ten times slower
SMALL = ["--model", MODEL, "--budget", "64", "--chunk", "16"]
SHORT = 1500 if AT_CI_LEVEL else 3000  # words
LONG = 300000 if FULL else 15000 if AT_CI_LEVEL else 60000  # words
GROWING, COMPLETE, STOPPED, CUT = range(4)  # states of a stored message
WORDS = ["the", "keeper", "of", "light", "wrote", "in", "his", "book", "that", "sea", "was", "calm", "and", "wind", "came"]


def text(words, seed):
    source = random.Random(seed)
    lines = [" ".join(source.choice(WORDS) for _ in range(12)) for _ in range(words // 12)]
    return "\n".join(lines) + "\n"


def events_of(stderr):
    """The complete JSON lines of `stderr`; a killed process may leave an incomplete one."""
    found = []
    for line in stderr.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


class Terminal:
    """A program in a pseudo-terminal. wait_for() removes the output up to and including the awaited text; what follows
    is left for the next wait."""

    def __init__(self, environment, *arguments):
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.environ.clear()
            # libedit never frees the names of functions it is given.
            os.environ.update(environment, TERM="xterm", ASAN_OPTIONS="detect_leaks=0")
            os.execv(PROGRAM, [PROGRAM, *arguments])
        self.shown = bytearray()

    def read(self, seconds):
        if select.select([self.file], [], [], seconds)[0]:
            self.shown.extend(os.read(self.file, 65536))

    def wait_for(self, what):
        end = time.monotonic() + PATIENCE
        while what not in self.shown:
            if time.monotonic() > end:
                raise AssertionError("%r is not in %r" % (what, bytes(self.shown)))
            self.read(1)
        del self.shown[:self.shown.index(what) + len(what)]

    def wait_until(self, condition):
        """Waits for the condition, reading the output meanwhile, because the program blocks while it is not read."""
        wait_until(lambda: self.read(0) or condition())

    def write(self, keys):
        """Writes all keys, reading the output meanwhile."""
        while keys:
            self.read(0)
            if select.select([], [self.file], [], 0.01)[1]:
                keys = keys[os.write(self.file, keys[:1024]):]

    def write_what_fits(self, keys):
        """Writes keys without reading the output. Returns the keys that the terminal did not accept."""
        while keys and select.select([], [self.file], [], 0.1)[1]:
            keys = keys[os.write(self.file, keys[:1024]):]
        return keys

    def modes(self):
        return termios.tcgetattr(self.file)[3]

    def end_with(self, number):
        """Sends the signal until the program has ended. Returns its exit code."""
        statuses = []

        def has_ended():
            try:
                self.read(0)
            except OSError:  # the program has closed the terminal
                pass
            os.kill(self.child, number)
            child, status = os.waitpid(self.child, os.WNOHANG)
            statuses.append(status)
            return child != 0

        wait_until(has_ended)
        return os.waitstatus_to_exitcode(statuses[-1])

    def signal(self, number):
        os.kill(self.child, number)
        if number == signal.SIGSTOP:
            os.waitpid(self.child, os.WUNTRACED)

    def status(self):
        end = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end:
                self.read(1)
        except OSError:  # the program has closed the terminal
            return os.waitpid(self.child, 0)[1]
        os.kill(self.child, signal.SIGKILL)
        raise AssertionError("it goes on and on; last it showed %r" % bytes(self.shown[-200:]))


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="palimpsest-test-")
        self.database = os.path.join(self.folder, "palimpsest", "palimpsest.db")
        self.environment = own_environment(self.folder)
        self.program = PROGRAM

    def tearDown(self):
        shutil.rmtree(self.folder)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(content)
        return path

    def start(self, *arguments, **more):
        settings = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
        return subprocess.Popen([self.program, *arguments], **{**settings, **more})

    def run_command(self, *arguments, stdin=b"", status=0):
        result = subprocess.run([self.program, *arguments], input=stdin, capture_output=True, timeout=PATIENCE,
                                env=self.environment)
        self.assertEqual(result.returncode, status, (arguments, result.stderr.decode()))
        return result

    def document(self, *arguments, **more):
        document = json.loads(self.run_command(*arguments, "--json", **more).stdout)
        for answer in document.get("answers", []) if isinstance(document, dict) else []:
            if answer.get("reread"):
                del answer["reread"]["seconds"]  # so that answers can be compared
        return document

    def query(self, sql, *values, database=None, uri=False):
        connection = sqlite3.connect(database or self.database, uri=uri)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def state(self, session, database=None):
        """The newest checkpoint's header. It holds the policy, the integrity check and the sampler, and the hashes of
        the blocks of logits, kept tokens, keys and values: equal headers mean equal contents, bit for bit."""
        rows = self.query("SELECT header FROM snapshots WHERE complete = 1 AND session = (SELECT id FROM sessions WHERE "
                          "name = ?) ORDER BY id DESC LIMIT 1", session, database=database)
        self.assertEqual(len(rows), 1)
        return rows[0][0]

    def message_states(self, session):
        """The states of the session's stored messages, in order. Starts no program and creates nothing."""
        try:
            connection = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True)
        except sqlite3.OperationalError:
            return []
        try:
            return [state for state, in connection.execute("SELECT state FROM messages WHERE session = (SELECT id FROM "
                                                           "sessions WHERE name = ?) ORDER BY id", (session,))]
        except sqlite3.OperationalError:
            return []
        finally:
            connection.close()

    def stored_messages(self, session):
        return len(self.message_states(session))

    def faded_bytes(self, session, database=None):
        return self.query("SELECT coalesce(sum(raw), 0) FROM fading WHERE session = (SELECT id FROM sessions WHERE "
                          "name = ?)", session, database=database)[0][0]

    def ids_said(self, session):
        """Token ids of every message, in order."""
        return [row[0] for row in self.query("SELECT hex(ids) FROM messages WHERE session = (SELECT id FROM sessions "
                                             "WHERE name = ?) ORDER BY id", session)]

    def assert_sound(self, database=None):
        self.assertEqual(self.query("PRAGMA integrity_check", database=database), [("ok",)])


class SessionTest(ProgramTest):
    """A test that starts with a book to read."""

    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(SHORT, 1))

    def fails(self, status, code, *arguments):
        errors = [line for line in self.run_command(*arguments, status=status).stderr.decode().splitlines()
                  if line.startswith("palimpsest: ")]
        self.assertEqual(len(errors), 1)
        self.assertTrue(errors[0].endswith("[%s]" % code), errors[0])
        return errors[0]

    def simd_targets(self):
        """Those of this machine, best first."""
        sentence = self.fails(2, "PAL-OPTION-11", "inspect", self.book, *SMALL, "--simd", "none")
        return re.search("choose one of ([A-Z0-9_]+(?:, [A-Z0-9_]+)*)", sentence).group(1).split(", ")

    def kept(self, session):
        return self.document("inspect", "--session", session)["heads"]

    def traces(self):
        self.traced = traced(self.environment)
        return can_kill()


def run(name):
    unittest.main(module=name, argv=sys.argv[:1], verbosity=1)
