"""Waits for a condition instead of a fixed time. The limit only catches a program that hangs: a busy machine may take
many times as long as an idle one."""
import time

PATIENCE = 600  # seconds


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it has not come in %d s" % PATIENCE)
        time.sleep(0.005)
