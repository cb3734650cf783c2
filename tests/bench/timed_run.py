"""Shared by the benchmarks of the command: a finished run of it."""
import json
import os
import subprocess
import time


class TimedRun:
    """A finished command with its result, its times, and the bytes that the operating system wrote for it."""

    def __init__(self, program, environment, *arguments):
        begin = time.monotonic()
        process = subprocess.Popen([program, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env=environment)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, arguments
        self.seconds = time.monotonic() - begin
        self.processor = usage.ru_utime + usage.ru_stime
        self.disk_bytes = usage.ru_oublock * 512
        self.result = json.loads(output)
