"""Shared by the tests of sessions: a folder of its own for each, the program started in it, and its database looked into."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from own_environment import own_environment

PROGRAM, FIXTURES = sys.argv[1], sys.argv[2]
MODEL = os.path.join(FIXTURES, "llama.f32.gguf")
FULL = os.environ.get("PALIMPSEST_TEST_LEVEL") == "full"
SMALL = ["--model", MODEL, "--budget", "64", "--chunk", "16"]
WORDS = ["the", "keeper", "of", "light", "wrote", "in", "his", "book", "that", "sea", "was", "calm", "and", "wind", "came"]


def text(words, seed):
    source = random.Random(seed)
    lines = [" ".join(source.choice(WORDS) for _ in range(12)) for _ in range(words // 12)]
    return "\n".join(lines) + "\n"


def events_of(stderr):
    """The complete JSON lines of what was said; a killed process may leave a part of one."""
    found = []
    for line in stderr.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="palimpsest-test-")
        self.database = os.path.join(self.folder, "palimpsest", "palimpsest.db")
        self.environment = own_environment(self.folder)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(content)
        return path

    def start(self, *arguments, **more):
        settings = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
        return subprocess.Popen([PROGRAM, *arguments], **{**settings, **more})

    def run_command(self, *arguments, stdin=b"", status=0):
        result = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=600,
                                env=self.environment)
        self.assertEqual(result.returncode, status, (arguments, result.stderr.decode()))
        return result

    def document(self, *arguments, **more):
        return json.loads(self.run_command(*arguments, "--json", **more).stdout)

    def query(self, sql, *values, database=None):
        connection = sqlite3.connect(database or self.database)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def state(self, session, database=None):
        """The newest state's header. It holds the policy, the probe and the sampler, and names the blocks of logits, kept
        tokens, keys and values by their hashes: two that are equal are equal in all of these, bit for bit."""
        rows = self.query("SELECT header FROM snapshots WHERE complete = 1 AND session = (SELECT id FROM sessions WHERE "
                          "name = ?) ORDER BY id DESC LIMIT 1", session, database=database)
        self.assertEqual(len(rows), 1)
        return rows[0][0]

    def faded_bytes(self, session, database=None):
        return self.query("SELECT coalesce(sum(raw), 0) FROM fading WHERE session = (SELECT id FROM sessions WHERE "
                          "name = ?)", session, database=database)[0][0]

    def ids_said(self, session):
        """Token ids of every message, in order."""
        return [row[0] for row in self.query("SELECT hex(ids) FROM messages WHERE session = (SELECT id FROM sessions "
                                             "WHERE name = ?) ORDER BY id", session)]

    def assert_sound(self, database=None):
        self.assertEqual(self.query("PRAGMA integrity_check", database=database), [("ok",)])


def run(name):
    unittest.main(module=name, argv=sys.argv[:1], verbosity=1)
