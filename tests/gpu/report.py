"""Collects results as JSON and as a table; writes both after every step."""
import json
import os
import threading
import time

from programs import PASSED


class Report:
    """The results so far, written to disk after every step."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.found = {"steps": []}
        self.begin = time.monotonic()
        self.lock = threading.RLock()  # a signal handler may run while it is held
        self.log = open(os.path.join(folder, "gpu.log"), "w", errors="replace")

    def say(self, text):
        with self.lock:
            print("[%5.1f s] %s" % (time.monotonic() - self.begin, text), flush=True)

    def note(self, title, text, most=20000):
        """Writes to the log only; of long texts the beginning and the end."""
        if len(text) > most:
            text = text[:most // 2] + "\n...\n" + text[-most // 2:]
        with self.lock:
            self.log.write("==== %s\n%s\n" % (title, text.rstrip()))
            self.log.flush()

    def step(self, name, status, seconds, why=""):
        self.found["steps"].append({"step": name, "status": status, "seconds": round(seconds, 1), "why": why})
        self.say("%-22s %s%s" % (name, status, ": " + why if why else ""))
        self.write()

    def write(self):
        for name, text in (("gpu.json", json.dumps(self.found, indent=1)), ("gpu.txt", table(self.found))):
            part = os.path.join(self.folder, name + ".part")
            with open(part, "w") as out:
                out.write(text + "\n")
            os.replace(part, os.path.join(self.folder, name))


# Minimum fractions of the limit set by the ceilings measured in the same run (docs/performance.md), and the maximum
# share of the statistics pass in the time of attention.
BARS = {("decode", "8b-bf16"): ("G1", 0.80), ("decode", "1b-bf16"): ("G1", 0.60), ("prefill", "8b-bf16"): ("G3", 0.55),
        ("prefill", "1b-bf16"): ("G3", 0.40)}
STATISTICS_BAR = 0.7
LAYERS = {"8b": 32, "1b": 16}


def table(found):
    lines = machine_table(found)
    for step in found["steps"]:
        lines.append("%-20s %-9s %6.1f s  %s" % (step["step"], step["status"], step["seconds"], step["why"][:150]))
    for device, cases in found.get("tests", {}).items():
        for case in cases:
            if case["status"] != PASSED:
                lines.append("  %s: %s: %s: %s" % (device, case["status"], case["case"], case["why"][:120]))
    bench = found.get("bench", {})
    kernels = bench.get("kernels", {}).get("lines", [])
    ceilings = {l["ceiling"]: l["value"] for l in kernels if "ceiling" in l}
    lines += bar_table(bench, kernels, ceilings) + token_table(kernels) + kernel_table(kernels)
    for key in sorted(k for k in bench if k.startswith("engine ")):
        lines += engine_table(key, bench[key]["lines"], ceilings)
    for key in ("engine-bench", "policy-bench"):
        lines += ["", key] + ["  " + line for line in bench.get(key, {}).get("text", [])] if key in bench else []
    for key, part in bench.items():
        lines += clocks_line(key, part.get("clocks", {}))
    if "verdict" in found:
        lines += ["", "%s (%.0f s)" % (found["verdict"], found["seconds"])]
    return "\n".join(lines)


def machine_table(found):
    lines = ["Palimpsest on a GPU, commit %s" % found.get("commit", "?")]
    for name in ("gpu", "device", "cpu", "cores", "nvcc", "g++", "built for"):
        value = found.get("machine", {}).get(name)
        if isinstance(value, dict):
            value = ", ".join("%s %s" % pair for pair in value.items())
        lines.append("  %-10s %s" % (name, value if value is not None else "none"))
    return lines + [""]


def clocks_line(key, clocks):
    values = ", ".join("%s %g (most %g)" % (name, c["median"], c["most"]) for name, c in clocks.items())
    return ["clocks during %s: %s" % (key, values)] if values else []


def decode_fraction(line, ceilings):
    """Speed of decode relative to the limit of the copy bandwidth."""
    if "copy" not in ceilings or "decode_tokens_per_second" not in line:
        return None
    return line["decode_tokens_per_second"] * line["decode_bytes_per_token"] / ceilings["copy"]


def prefill_fraction(line, ceilings):
    """Speed of prefill relative to the rate of a large matrix product."""
    if "bf16 gemm" not in ceilings or "prefill_tokens_per_second" not in line:
        return None
    return line["prefill_tokens_per_second"] * line["prefill_flops_per_token"] / ceilings["bf16 gemm"]


def bar_table(bench, kernels, ceilings):
    """Compares the minimum over all budgets and policies with the bar."""
    lines = []
    for (what, model), (name, bar) in BARS.items():
        fraction = decode_fraction if what == "decode" else prefill_fraction
        measured = [(fraction(l, ceilings), l) for l in bench.get("engine " + model, {}).get("lines", [])
                    if l.get("bench") == "speed"]
        measured = [pair for pair in measured if pair[0] is not None]
        if measured:
            least, line = min(measured, key=lambda pair: pair[0])
            lines.append("  %s %s %-8s least %.2f of the floor (%s, budget %d), bar %.2f: %s" % (
                name, model, what, least, line["policy"], line["budget"], bar, "holds" if least >= bar else "MISSED"))
    for line in kernels:
        if line.get("kernel") == "prefill" and "all rows" in line.get("shape", "") and "of_base" in line:
            share = line["of_base"] - 1
            lines.append("  G4 %s: statistics take %.2f of the attention's time, bar %.2f: %s" % (
                line["shape"], share, STATISTICS_BAR, "holds" if share <= STATISTICS_BAR else "MISSED"))
    return ["", "bars"] + lines if lines else []


def token_table(kernels):
    """Time of a decoded token by kernel; the rest of a measured token is time between kernels."""
    lines = []
    of = {(l["kernel"], l["shape"]): l["seconds"] for l in kernels if "kernel" in l and "seconds" in l}
    find = lambda kernel, start: next((s for (k, shape), s in of.items() if k == kernel and shape.startswith(start)), None)
    for model, layers in LAYERS.items():
        parts = {"qkv": find("gemv", model + " qkv bf16"), "attention": of.get(("decode", model + " n 2047, sums")),
                 "output": find("gemv", model + " output bf16"), "feed forward": find("ffn decode", model + " bf16"),
                 "vocabulary": find("gemv", model + " vocabulary bf16")}
        if None not in parts.values():
            total = layers * sum(s for name, s in parts.items() if name != "vocabulary") + parts["vocabulary"]
            each = ", ".join("%s %.0f %%" % (name, 100 * s * (1 if name == "vocabulary" else layers) / total)
                             for name, s in parts.items())
            lines.append("  %s bf16, budget 2048: %.3f ms in kernels: %s" % (model, 1e3 * total, each))
    return ["", "a decoded token"] + lines if lines else []


def kernel_table(found):
    lines = ["", "kernels"] if found else []
    for line in found:
        if "ceiling" in line:
            lines.append("  ceiling %-22s %10.1f %s" % (line["ceiling"], line["value"] / 1e9, line.get("unit", "")))
        elif "kernel" in line:
            if "error" in line:
                lines.append("  %-14s %-34s %s" % (line["kernel"], line.get("shape", ""), line["error"][:100]))
                continue
            fraction = line.get("fraction")
            lines.append("  %-14s %-34s %10.2f us  %9.1f %-8s %s" % (
                line["kernel"], line.get("shape", ""), line["seconds"] * 1e6, line.get("speed", 0) / 1e9, line.get("unit", ""),
                ("%.2f of %s" % (fraction, line.get("of", "")) if fraction is not None else "") +
                (", %.2f of the time of %s" % (line["of_base"], line["base"]) if "of_base" in line else "")))
    return lines


def engine_table(key, found, ceilings):
    rows = {"speed": speed_row, "stream": stream_row, "depth": depth_row}
    lines = ["", key] if found else []
    for line in found:
        if "error" in line or "left_out" in line:
            lines.append("  %-6s %-12s budget %5s  %s" % (line.get("bench"), line.get("policy"), line.get("budget"),
                                                         line.get("error", line.get("left_out", ""))[:110]))
        elif line.get("bench") in rows:
            lines.append(rows[line["bench"]](line, ceilings))
    return lines


def of_floor(fraction):
    return " = %.2f of the floor" % fraction if fraction is not None else ""


def decode_cell(line, ceilings):
    launches = ", %.0f launches" % line["launches_per_token"] if "launches_per_token" in line else ""
    return "decode %8.1f /s%s%s" % (line["decode_tokens_per_second"], of_floor(decode_fraction(line, ceilings)), launches)


def speed_row(line, ceilings):
    return "  %-12s budget %5d  prefill %9.0f /s%s  %s" % (
        line["policy"], line["budget"], line["prefill_tokens_per_second"], of_floor(prefill_fraction(line, ceilings)),
        decode_cell(line, ceilings))


def stream_row(line, ceilings):
    flat = "late / early %.3f, " % line["late_over_early"] if "late_over_early" in line else ""
    constant = {True: "device memory constant to the byte, ", False: "device memory NOT constant, "}
    return "  stream %-12s budget %5d  %d of %d tokens: %s%s%s" % (
        line["policy"], line["budget"], line["tokens_seen"], line["asked"], flat,
        constant.get(line.get("device_bytes_constant"), ""), decode_cell(line, ceilings))


def depth_row(line, ceilings):
    budget = "%d" % line["budget"] if line["budget"] else "full"
    return "  depth %6d  budget %5s  KV %8.1f MB  %s" % (line["depth"], budget, line["kv_bytes"] / 1e6,
                                                         decode_cell(line, ceilings))
