"""Kills the program just before a chosen system call that changes a file. strace counts these calls, and kills."""
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile

from patience import PATIENCE

NO_STRACE = "strace is not there, or not allowed"
GIVING_NAMES = ("rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat")
NAMES = GIVING_NAMES + ("write", "pwrite64", "ftruncate", "fsync", "fdatasync", "sendfile", "copy_file_range")
CALL = re.compile(r"^(\w+)\((.*)")
DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")


class KillPoint:
    """The count-th call of this name. `path` is that of its first descriptor, or empty."""

    def __init__(self, name, count, arguments=""):
        self.name, self.count, self.arguments = name, count, arguments
        descriptor = DESCRIPTOR.match(arguments)
        self.path = descriptor[1] if descriptor else ""

    def __str__(self):
        return "%s %d" % (self.name, self.count)


def traced(environment):
    """LeakSanitizer uses ptrace, so it fails in a process that strace traces."""
    return dict(environment, ASAN_OPTIONS="detect_leaks=0")


def can_kill():
    return bool(shutil.which("strace")) and subprocess.run(["strace", "true"], capture_output=True).returncode == 0


def kill_points(command, environment, faults=()):
    """Runs the command to its end. Returns the calls of its main thread, which alone writes to databases, in order, and what it
    wrote to standard error. `faults`: calls that fail, such as "linkat:error=EPERM"; they are none of the points."""
    with tempfile.NamedTemporaryFile("r", errors="replace") as log:
        whole = subprocess.run(["strace", "-y", "-s", "40", "-qq", "-o", log.name, "-e", "trace=" + ",".join(NAMES), *injected(faults), *command],
                               env=traced(environment), check=True, capture_output=True, timeout=PATIENCE)
        counts, points = collections.Counter(), []
        for call in filter(None, map(CALL.match, log)):
            counts[call[1]] += 1
            if not any(fault.startswith(call[1] + ":") for fault in faults):
                points.append(KillPoint(call[1], counts[call[1]], call[2]))
        return points, whole.stderr.decode()


def injected(faults):
    return [argument for fault in faults for argument in ("-e", "inject=" + fault)]


def kill_at(point, command, environment, faults=()):
    """Runs the command, which must come to this point. Returns what it wrote to standard error before."""
    kill = "inject=%s:signal=SIGKILL:when=%d" % (point.name, point.count)
    traced_calls = ",".join([point.name, *(fault.split(":")[0] for fault in faults)])
    killed = subprocess.run(["strace", "-qq", "-o", os.devnull, "-e", "trace=" + traced_calls, *injected(faults), "-e", kill,
                             *command],
                            env=traced(environment), capture_output=True, timeout=PATIENCE)
    if killed.returncode not in (-signal.SIGKILL, 128 + signal.SIGKILL):
        raise AssertionError("%s was not reached: %d, %s" % (point, killed.returncode, killed.stderr.decode()))
    return killed.stderr.decode(errors="replace")


def spread(things, count):
    """`count` of the things, or all if they are fewer, at even distances."""
    count = min(count, len(things))
    return [things[(2 * i + 1) * len(things) // (2 * count)] for i in range(count)]
