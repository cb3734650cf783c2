r"""Training, counted in tokens: a machine that is busy takes longer and learns the same.

    python train.py OUT --preset cpu --tokens 20.6 --end-rate 0.25
        stage 1: 20.6 million tokens of plain text; the learning rate is constant, then falls to a quarter
    python train.py OUT --preset cpu --tokens 3.4 --tasks OUT/tasks.npz --text-share 0.5 \
        --checkpoint OUT/stage1.pt --rate 0.25 --decay 1 --save stage2
        stage 2: tasks and text; goes on with the optimizer of stage 1, and the rate falls from a quarter to 0

OUT holds train.bin (corpus.py) and receives the checkpoints:
  SAVE-latest.pt   every few minutes; `--checkpoint OUT/SAVE-latest.pt --resume` goes on where it stopped
  SAVE-stable.pt   the end of the constant learning rate; `--checkpoint OUT/SAVE-stable.pt` trains on from there
  SAVE.pt          the finished model
A checkpoint is {"model", "config", "optimizer", "progress"}.

Several workers (`torchrun --nproc-per-node N train.py ...`) share each step: each takes its rows, and the gradients are
averaged once. On a CPU whose cores have other work to do, one thread per worker is faster than one worker with many
threads: a thread that is kept waiting stops the others only once per step.
"""
import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from model import Config, Llama

BOS = 1


@dataclasses.dataclass
class Preset:
    config: Config
    tokens: int  # per step
    phases: tuple  # (share of the tokens at which it begins, sequence length)
    muon_rate: float
    adam_rate: float
    decay: float  # share of the tokens over which the learning rate falls


PRESETS = {
    "cpu": Preset(Config(layers=8, dim=192, heads=4, kv_heads=2, head_dim=64, ffn=512), 4096,
                  ((0.0, 256), (0.3, 512), (0.78, 2048)), 0.015, 0.004, 0.22),
    "gpu": Preset(Config(layers=8, dim=512, heads=8, kv_heads=4, head_dim=64, ffn=1408), 131072,
                  ((0.0, 1024), (0.6, 2048)), 0.02, 0.004, 0.4),
}


class Windows:
    """Random windows of the training text without repetition until a pass is complete.

    Every second window begins with <s> in place of its first token, so that the model knows <s> as a beginning.
    """

    def __init__(self, path: Path, seed: int):
        self.ids = np.memmap(path, dtype=np.uint16, mode="r")
        self.seed = seed
        self.taken = {}  # sequence length -> windows given out
        self._order = {}

    def _window(self, length: int) -> np.ndarray:
        per_pass = (len(self.ids) - 1) // length - 1
        count = self.taken.get(length, 0)
        self.taken[length] = count + 1
        epoch, at = divmod(count, per_pass)
        if self._order.get(length, (None,))[0] != epoch:
            rng = np.random.default_rng((self.seed, length, epoch))
            self._order[length] = epoch, rng.permutation(per_pass), int(rng.integers(length))
        _, order, shift = self._order[length]
        begin = int(order[at]) * length + shift
        row = self.ids[begin:begin + length + 1].astype(np.int64)
        if count % 2:
            row[0] = BOS
        return row

    def batch(self, tokens: int, length: int):
        rows = np.stack([self._window(length) for _ in range(max(1, tokens // length))])
        return rows, np.ones_like(rows[:, 1:], dtype=np.float32)


class Tasks:
    """Examples of tasks.py, drawn at random among those of about the same length and padded to one of LENGTHS."""
    LENGTHS = (256, 512, 1024, 2048)
    DOCUMENT_WEIGHT = 0.4  # of a token that is not part of an answer

    def __init__(self, path: Path, seed: int):
        data = np.load(path)
        self.ids, self.answer, self.ends = data["ids"], data["answer"], data["ends"]
        sizes = np.diff(self.ends, prepend=0)
        self.rng = np.random.default_rng(seed)
        self.by_length = [np.flatnonzero((sizes > low + 1) & (sizes <= high + 1))
                          for low, high in zip((0, *self.LENGTHS), self.LENGTHS)]
        self.share = np.array([sizes[x].sum() for x in self.by_length], dtype=float)
        self.share /= self.share.sum()
        self.queues = [np.empty(0, dtype=int)] * len(self.LENGTHS)

    def batch(self, tokens: int):
        kind = self.rng.choice(len(self.LENGTHS), p=self.share)
        length = self.LENGTHS[kind]
        count = tokens // length
        while len(self.queues[kind]) < count:
            self.queues[kind] = np.concatenate((self.queues[kind], self.rng.permutation(self.by_length[kind])))
        chosen, self.queues[kind] = self.queues[kind][:count], self.queues[kind][count:]
        rows = np.full((count, length + 1), BOS, dtype=np.int64)
        weights = np.zeros((count, length), dtype=np.float32)
        for row, weight, i in zip(rows, weights, chosen):
            end, begin = self.ends[i], self.ends[i - 1] if i else 0
            row[:end - begin] = self.ids[begin:end]
            weight[:end - begin - 1] = np.where(self.answer[begin + 1:end], 1.0, self.DOCUMENT_WEIGHT)
        return rows, weights


class Muon(torch.optim.Optimizer):
    """Momentum whose update of each matrix is made nearly orthogonal (Jordan et al. 2024, "Muon")."""

    def __init__(self, params, lr, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @staticmethod
    def orthogonal(g, steps=5):
        """Newton-Schulz iteration in bfloat16 over a batch of matrices; singular values end near 1."""
        x = g.bfloat16()
        tall = x.shape[-2] > x.shape[-1]
        x = x.mT if tall else x
        x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(steps):
            a = x @ x.mT
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return (x.mT if tall else x).float()

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            shapes = {}
            for p in group["params"]:
                shapes.setdefault(p.shape, []).append(p)
            for shape, params in shapes.items():
                updates = []
                for p in params:
                    m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                    m.lerp_(p.grad, 1 - group["momentum"])
                    updates.append(p.grad.lerp(m, group["momentum"]))
                scale = max(1, shape[0] / shape[1]) ** 0.5
                for p, u in zip(params, self.orthogonal(torch.stack(updates))):
                    p.add_(u, alpha=-group["lr"] * scale)


def optimizers(model: Llama, preset: Preset, scale: float):
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and not n.startswith("embed")]
    rest = [p for n, p in model.named_parameters() if p.ndim == 1 or n.startswith("embed")]
    muon = Muon(matrices, lr=preset.muon_rate * scale)
    adam = torch.optim.AdamW(rest, lr=preset.adam_rate * scale, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.0, fused=True)
    for opt in (muon, adam):
        for group in opt.param_groups:
            group["peak"] = group["lr"]
    return muon, adam


def save(path: Path, model, opts, progress):
    part = path.with_suffix(".part")
    torch.save({"model": model.state_dict(), "config": dataclasses.asdict(model.cfg),
                "optimizer": [o.state_dict() for o in opts], "progress": progress}, part)
    os.replace(part, path)


class Workers:
    """The processes that share a step; a single one without torchrun."""

    def __init__(self, device: str):
        self.count, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        if self.count > 1:
            dist.init_process_group("nccl" if device == "cuda" else "gloo")

    def share(self, rows, weights):
        """This worker's rows, with weights whose sum over the workers is their count (so that averages add up)."""
        weights = weights * (self.count / weights.sum())
        return rows[self.rank::self.count], weights[self.rank::self.count]

    def average(self, tensors):
        if self.count > 1:
            flat = torch.cat([t.flatten() for t in tensors])
            dist.all_reduce(flat)
            flat /= self.count
            for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
                t.copy_(part.view_as(t))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", type=Path)
    ap.add_argument("--preset", choices=PRESETS, default="cpu")
    ap.add_argument("--tokens", type=float, required=True, help="millions of tokens to train on in this run")
    ap.add_argument("--length", type=int, help="sequence length of the whole run, if not the preset's phases")
    ap.add_argument("--tasks", type=Path, help="examples of tasks.py: stage 2")
    ap.add_argument("--text-share", type=float, default=0.4, help="share of stage-2 steps on plain text")
    ap.add_argument("--checkpoint", type=Path, help="checkpoint to begin from")
    ap.add_argument("--resume", action="store_true", help="also take from it how far its run was")
    ap.add_argument("--rate", type=float, default=1.0, help="factor on the learning rates")
    ap.add_argument("--decay", type=float, help="share of the tokens over which the rate falls, if not the preset's")
    ap.add_argument("--end-rate", type=float, default=0.0, help="what the rate falls to, as a share of the full one")
    ap.add_argument("--save", default="stage1", help="name of the checkpoints")
    ap.add_argument("--status", type=Path, help="file for a one-line status")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--no-compile", action="store_true")
    args = ap.parse_args()

    preset = PRESETS[args.preset]
    decay = args.decay or preset.decay
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workers = Workers(device)
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    torch.manual_seed(args.seed)
    start = torch.load(args.checkpoint, map_location=device, weights_only=True) if args.checkpoint else None
    model = Llama(Config(**start["config"]) if start else preset.config, args.seed).to(device)
    opts = optimizers(model, preset, args.rate)
    text = Windows(args.out / "train.bin", args.seed)
    tasks = Tasks(args.tasks, args.seed) if args.tasks else None
    step = tokens = run = 0  # tokens: since the first step of all; run: of this run
    if start:
        model.load_state_dict(start["model"])
        tokens, text.taken = start["progress"]["tokens"], dict(start["progress"]["taken"])
        for opt, state in zip(opts, start["optimizer"]):
            peaks = [group["peak"] for group in opt.param_groups]
            opt.load_state_dict(state)
            for group, peak in zip(opt.param_groups, peaks):
                group["peak"] = peak  # this stage's, not the checkpoint's
        if args.resume:
            step, run = start["progress"]["step"], start["progress"]["run"]
    first = workers.rank == 0
    if first:
        print(json.dumps(dataclasses.asdict(model.cfg)), sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    loss_of = model.loss if args.no_compile else torch.compile(model.loss, dynamic=False)
    choose = np.random.default_rng(args.seed)

    total, last_save = args.tokens * 1e6, time.time()
    phases = ((0.0, args.length),) if args.length else preset.phases
    stable_saved = run > (1 - decay) * total
    smooth, recent, progress = None, [], {}
    while (done := run / total) < 1:
        if tasks is not None and choose.random() >= args.text_share:
            rows, weights = tasks.batch(preset.tokens)
        else:
            length = phases[-1][1] if tasks else [n for at, n in phases if done >= at][-1]
            rows, weights = text.batch(preset.tokens, length)
        tokens += weights.size
        run += weights.size
        rows, weights = (torch.from_numpy(x).to(device) for x in workers.share(rows, weights))
        warm = 1.0 if start else min(1.0, (step + 1) / 100)
        rate = min(warm, args.end_rate + (1 - args.end_rate) * min(1.0, (1 - done) / decay))
        for opt in opts:
            for group in opt.param_groups:
                group["lr"] = group["peak"] * rate
        with torch.autocast(device, torch.bfloat16):
            loss = loss_of(rows[:, :-1], rows[:, 1:], weights)
        loss.backward()
        mean = loss.detach().float().clone()
        workers.average([p.grad for p in model.parameters()] + [mean])
        for opt in opts:
            opt.step()
            opt.zero_grad(set_to_none=True)
        step += 1
        value = mean.item()
        smooth = value if smooth is None else smooth + (value - smooth) / min(step, 100)
        recent = (recent + [(time.time(), tokens)])[-50:]
        progress = dict(step=step, tokens=tokens, run=run, taken=text.taken, loss=smooth)
        if not first:
            continue
        if step % 10 == 0:
            speed = (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])
            line = (f"{args.save} step {step} tokens {tokens / 1e6:.3f}M length {rows.shape[1] - 1} loss {smooth:.4f} "
                    f"rate {rate:.3f} {speed:.0f} tok/s, {(total - run) / speed / 60:.1f} minutes left")
            if args.status:
                args.status.write_text(line + "\n")
            if step % 50 == 0:
                print(line, flush=True)
        if not stable_saved and done >= 1 - decay:
            stable_saved = True
            save(args.out / f"{args.save}-stable.pt", model, opts, progress)
        if time.time() - last_save > 150:
            last_save = time.time()
            save(args.out / f"{args.save}-latest.pt", model, opts, progress)
    if first:
        save(args.out / f"{args.save}.pt", model, opts, progress)
        print(f"finished: {step} steps, {tokens} tokens", flush=True)


if __name__ == "__main__":
    main()
