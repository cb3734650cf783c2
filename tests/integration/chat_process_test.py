#!/usr/bin/env python3
"""Chats: saved after every turn, cut short by crashes, full disks and signals, and typed into a terminal.
Usage: chat_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import random
import re
import resource
import signal
import subprocess
import termios
import time

from patience import PATIENCE, wait_until
from session_harness import CUT, FULL, GROWING, LONG, MODEL, PROGRAM, AT_CI_LEVEL, SMALL, STOPPED, SessionTest, Terminal, run, text

PASTES_UNMARKED = b"\x1b[?2004l"


def printed(text):
    """The text as the command prints it: a random model also writes control characters, which are escaped."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: "\\x%02x" % ord(found[0]), text)
    return re.sub(r"[\x80-\x9f\u2028-\u202e\u2061-\u206f\ufeff\U000e0000-\U000e00ff\U000e01f0-\U0010ffff]", lambda found: "\\u{%x}" % ord(found[0]), text)


class ChatTest(SessionTest):
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

    # -- crashes and full disks ------------------------------------------------------------------------------------

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

    # -- signals and the terminal ----------------------------------------------------------------------------------

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


if __name__ == "__main__":
    run("__main__")
