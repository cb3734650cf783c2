#!/usr/bin/env python3
"""Measures processor time per token and memory of turns in a chat longer than ten times the model's context.

    chat_flat.py PALIMPSEST MODEL CONTEXT [OPTIONS OF CHAT...]

Time is the process's processor time, so that other load on the machine does not count (one thread unless --threads is
given). Every turn saves the session, so its cost has a fixed part and a part per token of question and answer; a linear
regression over the turns separates them. Both grow until the cache is full. The second run is a chat about a document,
whose cache is full from the first turn."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM, MODEL, CONTEXT = sys.argv[1], sys.argv[2], int(sys.argv[3])
OPTIONS = ["--temperature", "0.7", "--seed", "1", "--max-tokens", "200"] + sys.argv[4:]
if "--threads" not in OPTIONS:
    OPTIONS += ["--threads", "1"]
SUBJECTS = ["the harbour", "a ship of the year %d", "the keeper of light %d", "the road to the hills", "page %d of the book"]
BLOCK = 60  # turns


def processor_seconds(pid):
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task)) as file:
            total += int(file.read().split()[0])
    return total * 1e-9


def anonymous_memory(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))  # KiB


def next_checkpoint(chat):
    event = {}
    while event.get("event") != "checkpoint":
        event = json.loads(chat.stderr.readline())
    return event["tokens_seen"]


def turns(chat, tokens):
    """Yields per turn: tokens so far, tokens of the turn, processor seconds of the turn, memory."""
    number, begin, before = 0, tokens, processor_seconds(chat.pid)
    while tokens - begin <= 10 * CONTEXT or number < 4 * BLOCK:
        number += 1
        subject = SUBJECTS[number % len(SUBJECTS)]
        question = "Tell me about %s, at length." % (subject % number if "%" in subject else subject)
        chat.stdin.write(question.encode() + b"\n")
        chat.stdin.flush()
        seen, now = next_checkpoint(chat), processor_seconds(chat.pid)
        yield seen, seen - tokens, now - before, anonymous_memory(chat.pid)
        tokens, before = seen, now


def block(name, part):
    tokens, seconds = [p[1] for p in part], [p[2] for p in part]
    per_token, per_turn = statistics.linear_regression(tokens, seconds)
    typical = statistics.median(s / t for t, s in zip(tokens, seconds))
    print("%-24s up to %6d tokens, %5.1f a turn: %7.1f us a token (median of all costs), %7.1f us a token and %6.2f ms a turn "
          "(line), %6d KiB" % (name, part[-1][0], statistics.mean(tokens), typical * 1e6, per_token * 1e6, per_turn * 1e3,
                               part[-1][3]))
    return typical, per_token, per_token * 50 + per_turn, part[-1][3]


def run(folder, *document):
    chat = subprocess.Popen([PROGRAM, "chat", *document, "--model", MODEL, "--events", *OPTIONS], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder))
    all_turns = list(turns(chat, next_checkpoint(chat) if document else 0))
    chat.stdin.close()
    chat.stderr.read()
    assert chat.wait() == 0
    print("%d turns %s, load of the machine %.1f" %
          (len(all_turns), "about a document" if document else "from nothing", os.getloadavg()[0]))
    second = block("turns 2 to %d" % (BLOCK + 1), all_turns[1:BLOCK + 1])
    last = block("the last %d turns" % BLOCK, all_turns[-BLOCK:])
    print("last / second: time a token %.3f, by the line %.3f, a turn of 50 tokens by the line %.3f, memory %.3f" %
          tuple(b / a for a, b in zip(second, last)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        run(folder)
        document = os.path.join(folder, "document.txt")
        with open(document, "w") as out:
            for number in range(CONTEXT // 4):
                out.write("In the year %d the keeper of the light wrote that ship %d had come in.\n" % (1700 + number, number))
        run(folder, document)


main()
