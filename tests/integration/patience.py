"""Waiting for a state instead of for a time. The limit is there only for a program that hangs: a busy machine may take
many times as long as an idle one."""
import time

PATIENCE = 600  # seconds


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it has not come in %d s" % PATIENCE)
        time.sleep(0.005)
