#!/usr/bin/env python3
"""Several programs on one database: one writes, others read meanwhile, and a second writer waits for the first.
Usage: two_process_test.py PALIMPSEST MODEL_FIXTURES"""
import os
import sqlite3
import time

from patience import PATIENCE, wait_until
from session_harness import FULL, AT_CI_LEVEL, SMALL, ProgramTest, run, text


class TwoProcessTest(ProgramTest):
    def test_readers_during_a_reading_see_complete_states(self):
        book = self.file("book.txt", text(600000 if FULL else 15000 if AT_CI_LEVEL else 60000, 3))
        other = self.file("other.txt", text(1200, 4))
        self.run_command("read", other, "--session", "other", *SMALL)
        ask = lambda session: self.document("ask", "--session", session, "who?", "--max-tokens", "16")
        answer = ask("other")["answers"]
        kept, seen = {}, []
        for name in ("one", "two"):
            reading = self.start("read", book, "--session", name, *SMALL, "--checkpoint-seconds", "0", "--threads", "1")
            last = 0
            while reading.poll() is None:
                self.assertEqual(ask("other")["answers"], answer)
                if name not in {s["name"] for s in self.document("sessions", "list")["sessions"]}:
                    continue
                states = self.document("sessions", "show", name)["states"]
                inspected = self.document("inspect", "--session", name)
                tokens = inspected["tokens_seen"]
                self.assertGreaterEqual(tokens, states[0]["tokens_seen"] if states else 0)
                self.assertGreaterEqual(tokens, last)
                last = tokens
                for head in inspected["heads"]:
                    self.assertLessEqual(len(head["tokens"]), 64)
                    self.assertLess(max(head["tokens"], default=-1), max(tokens, 1))
                # After the same number of tokens, both readings have kept the same ones.
                self.assertEqual(kept.setdefault(tokens, inspected["heads"]), inspected["heads"])
                self.assertGreaterEqual(ask(name)["coverage"]["tokens_read"], tokens - 8)  # without the framing
                seen.append(tokens)
            self.assertEqual(reading.wait(), 0, reading.stderr.read())
            reading.communicate()
        self.assertGreater(len(seen), 0)
        self.assertEqual(self.state("one"), self.state("two"))
        print("%d views beside two readings, of %d different states" % (len(seen), len(set(seen))))

    def has_opened_the_database(self, process):
        files = "/proc/%d/fd" % process.pid
        try:
            return any(os.readlink(os.path.join(files, file)).startswith(self.database) for file in os.listdir(files))
        except OSError:  # a file was closed meanwhile
            return False

    def test_a_second_writer_waits_for_the_first(self):
        self.run_command("read", self.file("book.txt", text(600, 1)), "--session", "one", *SMALL)
        owner = self.start("chat", "--session", "two", *SMALL, "--max-tokens", "4", "--events")
        owner.stdin.write(b"hello\n")
        owner.stdin.flush()
        while b"checkpoint" not in owner.stderr.readline():
            pass
        waiting = self.start("sessions", "rename", "one", "three")
        wait_until(lambda: self.has_opened_the_database(waiting))
        time.sleep(0.5)  # `waiting` must not do anything meanwhile
        self.assertIsNone(waiting.poll())
        self.assertEqual({s["name"] for s in self.document("sessions", "list")["sessions"]}, {"one", "two"})
        owner.communicate(timeout=PATIENCE)
        error = waiting.communicate(timeout=PATIENCE)[1]
        self.assertEqual((owner.returncode, waiting.returncode), (0, 0), error)
        self.assertEqual({s["name"] for s in self.document("sessions", "list")["sessions"]}, {"two", "three"})

    def test_a_session_is_deleted_and_overwritten_although_a_reader_sees_it(self):
        secret = "the combination is 31-7-19"
        for name in ("gone", "kept"):
            self.run_command("read", self.file(name + ".txt", text(600, 2)), "--session", name, *SMALL)
        self.run_command("chat", "--session", "gone", *SMALL, "--max-tokens", "4", stdin=secret.encode() + b"\n")
        reader = sqlite3.connect(self.database, isolation_level=None)
        names = lambda: {row[0] for row in reader.execute("SELECT name FROM sessions")}
        reader.execute("BEGIN")
        self.assertEqual(names(), {"gone", "kept"})
        self.run_command("sessions", "rm", "gone")
        self.assertEqual(names(), {"gone", "kept"})  # the reader's transaction still sees both
        self.assertEqual(reader.execute("SELECT count(*) FROM messages").fetchone(), (2,))
        reader.execute("COMMIT")
        self.assertEqual(names(), {"kept"})
        reader.close()
        # Pages that the reader's transaction protected are overwritten by the next write.
        self.run_command("sessions", "rename", "kept", "still kept")
        for ending in ("", "-wal"):
            if os.path.exists(self.database + ending):
                with open(self.database + ending, "rb") as file:
                    self.assertNotIn(b"31-7-19", file.read())


if __name__ == "__main__":
    run("__main__")
