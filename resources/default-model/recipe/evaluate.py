"""The loss of an exported model on the held-out books, next to the Kneser-Ney baseline on exactly the same tokens.

    python evaluate.py OUT MODEL.gguf                       (OUT holds eval.bin, eval.json and kn.f32)

The held-out books are one stream of ids, cut into plain, non-overlapping windows (2048 ids); inside a window every id
but the first is predicted from what lies before it in the window, by both models. Bits per character are
nats per token / ln 2 * tokens / characters of the book.
"""
import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
import torch.nn.functional as F

from export_gguf import MATRICES, NORMS
from model import Config, Llama


def from_pairs(w: np.ndarray, heads: int) -> np.ndarray:
    """Undoes export_gguf.to_pairs."""
    return w.reshape(heads, -1, 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def load(path) -> Llama:
    """The model in a GGUF file, its weights dequantised."""
    reader = gguf.GGUFReader(path)
    get = lambda key: reader.fields[f"llama.{key}"].contents()
    cfg = Config(layers=get("block_count"), dim=get("embedding_length"), heads=get("attention.head_count"),
                 kv_heads=get("attention.head_count_kv"), head_dim=get("attention.key_length"),
                 ffn=get("feed_forward_length"), vocab=get("vocab_size"), context=get("context_length"),
                 rope_base=get("rope.freq_base"), eps=get("attention.layer_norm_rms_epsilon"))
    w = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    state = {"embed.weight": w["token_embd.weight"], "norm.weight": w["output_norm.weight"]}
    for i in range(cfg.layers):
        for mine, theirs in {**MATRICES, **NORMS}.items():
            x = w[f"blk.{i}.{theirs}.weight"]
            heads = {"q": cfg.heads, "k": cfg.kv_heads}.get(mine)
            state[f"blocks.{i}.{mine}.weight"] = from_pairs(x, heads) if heads else x
    model = Llama(cfg)
    model.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    return model.eval()


@torch.inference_mode()
def losses(model: Llama, ids: np.ndarray, window: int, device="cpu") -> np.ndarray:
    """Loss of every id in nats; NaN for the first of each window."""
    out = np.full(len(ids), np.nan, dtype=np.float32)
    for begin in range(0, len(ids), window):
        row = torch.from_numpy(ids[begin:begin + window].astype(np.int64)).to(device)
        if len(row) > 1:
            nll = F.cross_entropy(model(row[None, :-1])[0].float(), row[1:], reduction="none")
            out[begin + 1:begin + len(row)] = nll.cpu().numpy()
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", type=Path)
    ap.add_argument("gguf", type=Path)
    ap.add_argument("--window", type=int, default=2048)
    ap.add_argument("--every", type=int, default=1, help="score only every n-th window, for a quick look")
    args = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load(args.gguf).to(device)
    ids = np.fromfile(args.out / "eval.bin", dtype=np.uint16)
    books = json.loads((args.out / "eval.json").read_text())
    kn = np.fromfile(args.out / "kn.f32", dtype=np.float32)
    net = np.full(len(ids), np.nan, dtype=np.float32)
    for begin in range(0, len(ids), args.window * args.every):
        part = slice(begin, begin + args.window)
        net[part] = losses(model, ids[part], args.window, device)
    kn[np.isnan(net)] = np.nan

    print("| book | tokens | KN-5 nats/token | model nats/token | KN-5 bits/char | model bits/char |\n|---|---|---|---|---|---|")
    rows = books + [dict(name="all twelve", begin=0, end=len(ids), chars=sum(b["chars"] for b in books))]
    for b in rows:
        part = slice(b["begin"], b["end"])
        size = b["end"] - b["begin"]
        loss = [float(np.nanmean(x[part], dtype=np.float64)) for x in (kn, net)]
        bits = [x / np.log(2) * size / b["chars"] for x in loss]
        print(f"| {b['name'].removesuffix('.txt')} | {size} | {loss[0]:.3f} | {loss[1]:.3f} | {bits[0]:.3f} | {bits[1]:.3f} |")
    place = np.arange(len(ids)) % args.window
    for low, high in ((1, 128), (128, 512), (512, 1024), (1024, 2048)):
        at = (place >= low) & (place < high)
        print(f"position {low}-{high}: KN-5 {np.nanmean(kn[at]):.3f}, model {np.nanmean(net[at]):.3f}")


if __name__ == "__main__":
    main()
