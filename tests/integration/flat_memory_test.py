#!/usr/bin/env python3
"""Reading a long document takes no more memory than reading a short one: peak anonymous memory within 1 %.

    flat_memory_test.py PALIMPSEST MODEL [SHORT LONG [COMMON OPTIONS...]]

Prints both peaks, and the time per token at the beginning and at the end of the long document. The time is not
asserted: it varies too much on a shared machine."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, MODEL = sys.argv[1:3]
SHORT, LONG = (int(n) for n in sys.argv[3:5]) if len(sys.argv) > 4 else (10000, 50000)
OPTIONS = sys.argv[5:] or ["--budget", "64", "--chunk", "32"]
TEXT = "In the year %d the keeper of the light wrote that ship number %d had come in with %d barrels of oil.\n"


def write_document(path, tokens):
    """Writes about `tokens` tokens of varied text; the program reports the exact number."""
    with open(path, "w") as out:
        written = number = 0
        while written < tokens:
            number += 1
            out.write(TEXT % (1700 + number % 200, number, number * 7919 % 1000))
            written += 30


def peak_anonymous(pid, result, stop):
    """Counts pages. The sums in /proc/PID/status may lag behind by 64 pages per core."""
    while not stop.is_set():
        try:
            with open("/proc/%d/smaps_rollup" % pid) as memory:
                for line in memory:
                    if line.startswith("Anonymous:"):
                        result[0] = max(result[0], int(line.split()[1]))
        except OSError:
            return
        time.sleep(0.002)


def read(path):
    process = subprocess.Popen([PROGRAM, "inspect", path, "--model", MODEL, "--map", path + ".csv", "--events",
                                "--layer", "0", "--head", "0", "--json", *OPTIONS],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    peak, stop = [0], threading.Event()
    watcher = threading.Thread(target=peak_anonymous, args=(process.pid, peak, stop))
    watcher.start()
    clock = []
    for line in process.stderr:
        if line.startswith(b"{"):
            clock.append((time.monotonic(), json.loads(line)["tokens_seen"]))
    document = json.loads(process.stdout.read())
    assert process.wait() == 0
    stop.set()
    watcher.join()
    return peak[0], document["tokens_seen"], clock


def seconds_per_token(clock, first, last):
    inside = [entry for entry in clock if first <= entry[1] <= last]
    return (inside[-1][0] - inside[0][0]) / (inside[-1][1] - inside[0][1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for tokens, times in ((SHORT, 3), (LONG, 1)):  # a short run may end before every thread has touched its scratch
            path = os.path.join(folder, "%d.txt" % tokens)
            write_document(path, tokens)
            peak = 0
            for _ in range(times):
                once, seen, clock = read(path)
                peak = max(peak, once)
            peaks.append(peak)
            print("%9d tokens: peak anonymous memory %d KiB" % (seen, peak))
        begin = seconds_per_token(clock, 0, SHORT)
        end = seconds_per_token(clock, clock[-1][1] - SHORT, clock[-1][1])
        print("time per token: first %d %.2f us, last %d %.2f us, ratio %.3f" % (SHORT, begin * 1e6, SHORT, end * 1e6, end / begin))
        print("memory ratio %.4f" % (peaks[1] / peaks[0]))
        return 0 if abs(peaks[1] / peaks[0] - 1) <= 0.01 else 1


sys.exit(main())
