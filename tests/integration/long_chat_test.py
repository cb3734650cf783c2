#!/usr/bin/env python3
"""A chat of more than ten times the model's context: every turn is saved, and memory stays what it was.
Usage: long_chat_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import subprocess

from session_harness import FULL, SMALL, ProgramTest, run

CONTEXT = 256  # of the fixture
TIMES = 200 if FULL else 40


def anonymous_memory(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))  # KiB


class LongChatTest(ProgramTest):
    def test_a_chat_far_beyond_the_context(self):
        chat = self.start("chat", "--session", "long", *SMALL, "--seed", "3", "--max-tokens", "60", "--events",
                          stdout=subprocess.DEVNULL)
        said, memory, tokens = [], [], 0
        while tokens <= TIMES * CONTEXT:
            said.append("what was turn %d about?" % len(said))
            chat.stdin.write(said[-1].encode() + b"\n")
            chat.stdin.flush()
            event = {}
            while event.get("event") != "checkpoint":
                event = json.loads(chat.stderr.readline())
            tokens = event["tokens_seen"]
            memory.append(anonymous_memory(chat.pid))
        chat.communicate(timeout=60)
        self.assertEqual(chat.returncode, 0)
        shown = self.document("sessions", "show", "long")
        self.assertEqual([m["text"] for m in shown["messages"][::2]], said)
        self.assertEqual([m["role"] for m in shown["messages"]], ["user", "assistant"] * len(said))
        self.assertEqual(shown["states"][0]["tokens_seen"], tokens)
        self.run_command("sessions", "verify", "long")
        # Buffers that are filled once, and the database's page cache, have been by the time of a quarter of it.
        quarter = len(memory) // 4
        early, late = max(memory[quarter:2 * quarter]), max(memory[-quarter:])
        print("%d turns, %d tokens, %d KiB at first, %d KiB in the second quarter, %d KiB in the last" %
              (len(said), tokens, memory[0], early, late))
        self.assertLess(late, early * 1.02)


if __name__ == "__main__":
    run("__main__")
