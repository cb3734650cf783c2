"""Divides long sweeps among processes: PALIMPSEST_SWEEP_PART=k/n takes the k-th of every n positions, k from 1 to n; unset, all of
them are taken (docs/validation.md)."""
import os
import re


def sweep_part():
    """The pair k, n."""
    given = os.environ.get("PALIMPSEST_SWEEP_PART", "1/1")
    form = re.fullmatch(r"(\d+)/(\d+)", given)
    if not form or not 1 <= int(form[1]) <= int(form[2]):
        raise ValueError("PALIMPSEST_SWEEP_PART must be k/n with 1 <= k <= n, not " + given)
    return int(form[1]), int(form[2])


def in_part(positions):
    number, count = sweep_part()
    return positions[number - 1::count]
