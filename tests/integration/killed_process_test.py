#!/usr/bin/env python3
"""Kills processes at chosen and at random moments: acknowledged work is kept, and resuming gives the same bits.
Usage: killed_process_test.py PALIMPSEST MODEL_FIXTURES      (PALIMPSEST_TEST_LEVEL=full: more kills, for a release)

For a chosen moment, the program is killed just before its n-th write. The write-ahead log shows whether the kill fell
inside a transaction: it then has frames after the last commit."""
import json
import os
import random
import signal
import struct
import subprocess
import time
import unittest

from kill_points import KillPoint, NO_STRACE, can_kill, kill_at, kill_points, spread
from patience import PATIENCE
from session_harness import FULL, PROGRAM, SMALL, ProgramTest, events_of, run, text

WRITES = ("pwrite64", "fdatasync", "fsync")
CUT = "\ufffd"  # an answer may end within a character, which is shown only once the answer has been saved


def reading_begins(points):
    """Where the first progress is reported."""
    return next(i for i, p in enumerate(points) if p.name == "write" and '{\\"event\\":\\"progress\\"' in p.arguments)


def inside_transactions(writes):
    """Writes to the write-ahead log, except the first and the last of each transaction: a program that is killed just
    before one of the others leaves frames without a commit. The last write is the page of the frame that commits; where a
    log is used again, older bytes stand in its place, and only the checksum tells that the frame is incomplete."""
    inside, group = [], []
    for write in writes:
        if write.path.endswith("-wal") and write.name == "pwrite64":
            group.append(write)
        elif write.path.endswith("-wal"):
            inside += group[1:-1]
            group = []
    return inside


def uncommitted_frames(wal):
    """Counts the frames of the log's current generation after its last commit (sqlite.org/fileformat2.html, 4.2)."""
    if not os.path.exists(wal):
        return 0
    with open(wal, "rb") as file:
        content = file.read()
    if len(content) < 32:
        return 0
    page, salts = struct.unpack(">I", content[8:12])[0], content[16:24]
    behind = 0
    for at in range(32, len(content) - 23, 24 + page):
        if content[at + 8:at + 16] != salts:
            break
        is_commit = content[at + 4:at + 8] != bytes(4) and at + 24 + page <= len(content)
        behind = 0 if is_commit else behind + 1
    return behind


def last_seen(events, kind):
    return max((e["tokens_seen"] for e in events if e.get("event") == kind), default=0)


class KilledReadingTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.book = self.file("book.txt", text(40000 if FULL else 24000, 8))  # enough for more than one checkpoint

    def read(self, database):
        # Interval 0 stores a checkpoint at every opportunity, so that their positions do not depend on the clock.
        return ["read", self.book, "--session", "s", "--db", database, *SMALL, "--checkpoint-seconds", "0", "--events"]

    def kept(self, database):
        return self.document("inspect", "--session", "s", "--db", database)["heads"]

    def answer(self, database):
        return self.document("ask", "--session", "s", "--db", database, "who?", "--max-tokens", "64")["answers"]

    def restored_tokens(self, database):
        shown = subprocess.run([PROGRAM, "sessions", "show", "s", "--db", database, "--json"], capture_output=True,
                               timeout=PATIENCE, env=self.environment)
        self.assertIn(shown.returncode, (0, 3), shown.stderr)
        states = json.loads(shown.stdout)["states"] if shown.returncode == 0 else []
        return states[0]["tokens_seen"] if states else 0

    def assert_as_whole(self, database):
        """Compares with an uninterrupted reading: checkpoint, kept tokens, fade record and the next 64 tokens."""
        self.assertEqual(self.state("s", database), self.whole_state)
        self.assertEqual(self.faded_bytes("s", database), self.whole_faded)
        self.assertEqual(self.kept(database), self.whole_kept)
        self.assertEqual(self.answer(database), self.whole_answer)
        self.run_command("sessions", "verify", "s", "--db", database)
        self.assert_sound(database)

    @unittest.skipUnless(can_kill(), NO_STRACE)
    def test_a_reading_killed_at_a_chosen_write_resumes_bit_for_bit(self):
        whole = os.path.join(self.folder, "whole.db")
        points, said = kill_points([PROGRAM, *self.read(whole)], self.environment)
        states = [e["tokens_seen"] for e in events_of(said.encode()) if e["event"] == "checkpoint"]
        self.assertGreaterEqual(len(states), 2)
        interval = max(after - before for before, after in zip([0] + states, states))
        self.whole_state, self.whole_faded = self.state("s", whole), self.faded_bytes("s", whole)
        self.whole_kept, self.whole_answer = self.kept(whole), self.answer(whole)

        writes = [p for p in points if p.name in WRITES]
        reading = points[reading_begins(points):]
        inside = inside_transactions(writes)
        others = [w for w in writes if w not in inside]
        chosen = (spread([w for w in inside if w in reading], 12 if FULL else 5) +
                  spread([w for w in inside if w not in reading], 4 if FULL else 1) + spread(others, 4 if FULL else 2))
        proved, most_again = 0, 0
        for moment in chosen:
            database = os.path.join(self.folder, "%s.db" % moment)
            said = events_of(kill_at(moment, [PROGRAM, *self.read(database)], self.environment).encode())
            torn = uncommitted_frames(database + "-wal") > 0
            proved += torn and last_seen(said, "progress") > 0  # once reading has begun, only checkpoints are written
            restored = self.restored_tokens(database)
            self.assertGreaterEqual(restored, last_seen(said, "checkpoint"))
            read_again = last_seen(said, "progress") - restored
            self.assertLessEqual(read_again, interval)
            most_again = max(most_again, read_again)
            resumed = events_of(self.run_command(*self.read(database)).stderr)
            first = next((e["tokens_seen"] for e in resumed if e["event"] == "progress"), restored)
            self.assertLessEqual(first, restored + 512)  # resumed at the checkpoint, or one progress event later
            self.assertGreaterEqual(first, restored)
            self.assert_as_whole(database)
        self.assertGreaterEqual(proved, 5)
        print("%d kills at chosen writes, %d proved to be inside a state's transaction; at most %d tokens read twice, "
              "interval %d" % (len(chosen), proved, most_again, interval))

    @unittest.skipUnless(can_kill(), NO_STRACE)
    def test_a_kill_while_the_database_is_created_leaves_no_session(self):
        """The database then has no sessions, and the next writer starts anew."""
        small = self.file("small.txt", text(24, 1))
        for count in range(1, 15):
            database = os.path.join(self.folder, "%d.db" % count)
            read = ["read", small, "--session", "s", "--db", database, *SMALL]
            kill_at(KillPoint("pwrite64", count), [PROGRAM, *read], self.environment)
            self.assertEqual(self.restored_tokens(database), 0)
            self.run_command(*read)
            self.assertGreater(self.restored_tokens(database), 0)

    def test_a_reading_killed_at_random_times_keeps_its_checkpoints(self):
        """Every announced checkpoint is stored, however many kills a reading takes."""
        whole = os.path.join(self.folder, "whole.db")
        begin = time.monotonic()
        self.run_command(*self.read(whole))
        duration = time.monotonic() - begin
        self.whole_state, self.whole_faded = self.state("s", whole), self.faded_bytes("s", whole)
        self.whole_kept, self.whole_answer = self.kept(whole), self.answer(whole)
        source, killed, finished, announced = random.Random(5), 0, 0, 0
        while killed < (100 if FULL else 4):
            database = os.path.join(self.folder, "cut %d.db" % finished)
            process = self.start(*self.read(database))
            time.sleep(source.uniform(0, 0.9) * duration)
            process.kill()
            said = events_of(process.communicate(timeout=PATIENCE)[1])
            self.assertIn(process.returncode, (0, -signal.SIGKILL))
            killed += process.returncode != 0
            announced = max(announced, last_seen(said, "checkpoint"))
            self.assertGreaterEqual(self.restored_tokens(database), announced)
            if process.returncode == 0:
                self.assert_as_whole(database)
                finished, announced = finished + 1, 0
        self.run_command(*self.read(os.path.join(self.folder, "cut %d.db" % finished)))
        self.assert_as_whole(os.path.join(self.folder, "cut %d.db" % finished))
        print("%d readings killed at random times, %d finished" % (killed, finished + 1))


class KilledNotesTest(ProgramTest):
    def read(self, database):
        return ["read", self.book, "--session", "s", "--db", database, *SMALL, "--notes", "--events",
                "--checkpoint-seconds", "0"]

    def notes(self, database):
        """What the notes of the session say, and what the model wrote where they are quoted."""
        outline = self.document("summarize", "--session", "s", "--db", database, "--notes", "--max-tokens", "1")["outline"]
        return [(n["tokens"], n["origin"], n["repeats"], n["text"], n["refused"]) for n in outline]

    def test_a_reading_killed_after_any_note_writes_the_same_notes_and_none_twice(self):
        chapters = ["CHAPTER %d\n\n%s\n" % (i + 1, text(600 + 60 * i, 40 + i)) for i in range(5)]
        self.book = self.file("chapters.txt", "".join(chapters))
        whole = os.path.join(self.folder, "whole.db")
        self.run_command(*self.read(whole))
        expected = self.notes(whole)
        self.assertGreaterEqual(len(expected), 5)
        database, kills, written = os.path.join(self.folder, "killed.db"), 0, []
        while True:
            process = self.start(*self.read(database), stdout=subprocess.DEVNULL)
            while True:
                line = process.stderr.readline()
                if not line:
                    break
                event = json.loads(line)
                if event["event"] == "section_note":
                    written.append(tuple(event["tokens"]))
                    process.kill()
                    break
            rest = events_of(process.communicate(timeout=PATIENCE)[1])
            written += [tuple(e["tokens"]) for e in rest if e["event"] == "section_note"]
            if process.returncode == 0:
                break
            kills += 1
        self.assertGreater(kills, 1)
        self.assertEqual(self.notes(database), expected)
        self.assertEqual(len(written), len(set(written)), "a note was written twice")
        self.assertEqual(self.state("s", database), self.state("s", whole))
        self.assert_sound(database)
        print("%d readings killed after a note, %d notes, each written once" % (kills, len(expected)))


class KilledChatTest(ProgramTest):
    CHAT = [*SMALL, "--temperature", "0.7", "--events"]

    def say(self, process, message):
        process.stdin.write(message.encode() + b"\n")
        process.stdin.flush()

    def wait_for_turn(self, process):
        """Reads events until the turn is reported as saved. Returns the answer."""
        answer = ""
        while True:
            event = json.loads(process.stderr.readline())
            if event["event"] == "token":
                answer += event["text"]
            elif event["event"] == "checkpoint":
                return answer

    def messages(self, session):
        return [(m["role"], m["text"]) for m in self.document("sessions", "show", session)["messages"]]

    def test_chats_killed_at_random_times_keep_their_saved_turns(self):
        """Compares with the turns that this test has recorded: those reported as saved are stored, in order."""
        source, journal, acknowledged = random.Random(6), {}, 0
        for cycle in range(100 if FULL else 6):
            name = "chat %d" % (cycle // 5)
            told = journal.setdefault(name, [])
            process = self.start("chat", "--session", name, *self.CHAT, "--seed", "7", "--max-tokens", "400",
                                 stdout=subprocess.DEVNULL)
            for turn in range(source.randint(0, 3)):
                message = "turn %d of cycle %d" % (turn, cycle)
                self.say(process, message)
                told += [("user", message), ("assistant", self.wait_for_turn(process))]
                acknowledged += 1
            last = "the last of cycle %d" % cycle
            self.say(process, last)
            time.sleep(source.uniform(0, 0.1))
            process.kill()
            process.communicate(timeout=PATIENCE)
            if not told and not self.is_there(name):
                continue
            there = self.messages(name)
            whole = lambda messages: [(role, text.strip(CUT)) for role, text in messages]
            self.assertEqual(whole(there[:len(told)]), whole(told))
            rest = there[len(told):]  # the interrupted turn is stored as question and answer, or not at all
            self.assertIn([message[0] for message in rest], ([], ["user", "assistant"]))
            self.assertIn([text for role, text in rest if role == "user"], ([], [last]))
            journal[name] = there
        for name, told in journal.items():
            if told:
                self.assertEqual(self.messages(name), told)
                self.run_command("sessions", "verify", name)
        self.assert_sound()
        self.assertGreater(acknowledged, 0)
        print("%d chats killed, %d acknowledged turns, all there" % (100 if FULL else 6, acknowledged))

    def is_there(self, name):
        listed = subprocess.run([PROGRAM, "sessions", "list", "--json"], capture_output=True, env=self.environment)
        return listed.returncode == 0 and name in {s["name"] for s in json.loads(listed.stdout)["sessions"]}

    def test_a_chat_killed_within_an_answer_continues_bit_for_bit(self):
        """Compares with a chat whose answer was limited to the tokens that the killed chat had stored."""
        source, compared, attempt, wanted = random.Random(9), 0, 0, 20 if FULL else 2
        while compared < wanted:
            attempt += 1
            self.assertLess(attempt, 20 * wanted, "hardly an answer is long enough to be killed in")
            chat = lambda name, message, length: self.run_command(
                "chat", "--session", name, *self.CHAT, "--seed", str(attempt), "--max-tokens", str(length),
                stdin=message.encode() + b"\n")
            for name in ("killed", "cut"):
                chat("%s %d" % (name, attempt), "one", 40)
            # With a small pipe, the program cannot run far ahead of this reader.
            process = self.start("chat", "--session", "killed %d" % attempt, *self.CHAT, "--seed", str(attempt),
                                 "--max-tokens", "1500", stdout=subprocess.DEVNULL, pipesize=4096)
            self.say(process, "two")
            tokens = 0
            enough = source.randint(256, 700)
            while tokens < enough:
                event = json.loads(process.stderr.readline())
                if event["event"] == "checkpoint":
                    break
                tokens += event["event"] == "token"
            process.kill()
            process.communicate(timeout=PATIENCE)
            stored = len(self.ids_said("killed %d" % attempt)[-1]) // 8
            self.assertGreaterEqual(stored, tokens // 256 * 256)  # an answer is stored every 256 tokens
            growing = self.query("SELECT state FROM messages ORDER BY id DESC LIMIT 1") == [(0,)]
            if stored == 0 or not growing:
                continue  # the answer ended before the kill, or no part of it was stored
            chat("cut %d" % attempt, "two", stored)
            for name in ("killed", "cut"):
                chat("%s %d" % (name, attempt), "three", 64)
            self.assertEqual(self.ids_said("killed %d" % attempt), self.ids_said("cut %d" % attempt))
            self.assertEqual(self.state("killed %d" % attempt), self.state("cut %d" % attempt))
            compared += 1
        print("%d chats killed within an answer went on bit for bit" % compared)


if __name__ == "__main__":
    run("__main__")
