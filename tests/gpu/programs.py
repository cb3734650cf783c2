"""Runs programs with a time limit and reports how they ended."""
import json
import os
import re
import signal
import statistics
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PASSED, FAILED, TIMED_OUT, SKIPPED = "passed", "FAILED", "TIMED OUT", "skipped"
NO_DEVICE = 77


class Skip(Exception):
    """A step that cannot run here, with the reason."""


class Failure(Exception):
    """A step that failed, in one line."""


class Command:
    """A finished program. `code` is None if it exceeded its time limit; it and its children were then killed."""

    running = set()
    no_more = False  # starts no more programs

    def __init__(self, words, limit, environment=None, folder=ROOT):
        begin = time.monotonic()
        self.words = words
        if Command.no_more:
            self.code, self.output, self.seconds = None, "", 0.0
            return
        try:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, text=True,
                                       errors="replace", env=environment, start_new_session=True)
        except OSError as error:
            self.code, self.output, self.seconds = 127, str(error), 0.0
            return
        Command.running.add(process)
        try:
            self.output, _ = process.communicate(timeout=max(limit, 0.1))
            self.code = process.returncode
        except subprocess.TimeoutExpired:
            self.code = None
            self.output = self.end(process)
        finally:
            Command.running.discard(process)
        self.seconds = time.monotonic() - begin

    @staticmethod
    def kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    @staticmethod
    def kill_all():
        Command.no_more = True
        for _ in range(2):  # the second round ends programs that were just being started
            for process in list(Command.running):
                Command.kill(process)
            time.sleep(0.2)

    @staticmethod
    def end(process):
        Command.kill(process)
        try:
            return process.communicate(timeout=5)[0] or ""
        except subprocess.TimeoutExpired:  # stuck in the driver
            return ""

    def why(self):
        if self.code is None:
            return "took longer than %.0f s" % self.seconds
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"error|Error|fatal|FAILED|PAL-|what\(\)", line)] or lines[-1:]
        signalled = "signal %d: " % -self.code if self.code < 0 else "exit %d: " % self.code
        return signalled + (telling[0][:300] if telling else "no output")


class Clocks:
    """Samples the GPU's clocks and power during a measurement."""

    FIELDS = "clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu"

    def __init__(self):
        self.samples, self.stop = [], threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)

    def sample(self):
        while not self.stop.wait(2.0):
            text = Command(["nvidia-smi", "--query-gpu=" + self.FIELDS, "--format=csv,noheader,nounits"], 5)
            values = text.output.splitlines()[0].split(",") if text.code == 0 and text.output.strip() else []
            try:
                self.samples.append([float(v) for v in values])
            except ValueError:
                pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(6)

    def found(self):
        names = self.FIELDS.split(",")
        columns = list(zip(*[s for s in self.samples if len(s) == len(names)]))
        return {name: {"median": statistics.median(c), "most": max(c)} for name, c in zip(names, columns)}


def json_lines(text):
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                pass
    return found
