#!/usr/bin/env python3
"""A chat of more than ten times the model's context: every turn is saved, and memory does not grow with the tokens.
Usage: long_chat_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import subprocess

from patience import PATIENCE
from session_harness import FULL, SMALL, ProgramTest, run

CONTEXT = 256  # tokens; of the fixture model
BYTES_OF_A_TOKEN = 2 * 2 * 2 * 8 * 2  # keys and values of 2 layers with 2 KV heads of 8 numbers, 2 bytes each
TIMES = 200 if FULL else 40


def anonymous_memory(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))  # KiB


class LongChatTest(ProgramTest):
    def test_a_chat_far_beyond_the_context_is_saved_in_bounded_memory(self):
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
        chat.communicate(timeout=PATIENCE)
        self.assertEqual(chat.returncode, 0)
        shown = self.document("sessions", "show", "long")
        self.assertEqual([m["text"] for m in shown["messages"][::2]], said)
        self.assertEqual([m["role"] for m in shown["messages"]], ["user", "assistant"] * len(said))
        self.assertEqual(shown["states"][0]["tokens_seen"], tokens)
        self.run_command("sessions", "verify", "long")
        # Memory may grow a little, because the database's page cache fills for some thousand turns; but keeping all
        # tokens would take more than twice the limit.
        quarter = len(memory) // 4
        early, late = max(memory[quarter:2 * quarter]), max(memory[-quarter:])
        grown = (late - early) * 1024 / (tokens * 5 // 8)  # from the middle of one quarter to the middle of the other
        print("%d turns, %d tokens, %d KiB at first, %d KiB in the second quarter, %d KiB in the last: %.1f bytes a token" %
              (len(said), tokens, memory[0], early, late, grown))
        self.assertLess(grown, BYTES_OF_A_TOKEN / 2)


if __name__ == "__main__":
    run("__main__")
