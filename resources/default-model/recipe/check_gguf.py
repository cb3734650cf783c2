"""The check of the export: reads nothing but the GGUF, runs it in plain numpy and compares with the checkpoint.

    python check_gguf.py OUT CHECKPOINT.pt MODEL.gguf

Written apart from model.py on purpose (adjacent-pair rotary, sizes from the metadata), so that a wrong permutation, a
wrong key or a bad quantisation shows. Also rebuilds a tokenizer from the GGUF's own list and compares it piece by piece.
"""
import argparse
from pathlib import Path

import gguf
import numpy as np


class Gguf:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.meta = {k: f.contents() for k, f in reader.fields.items()}
        self.w = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).reshape(tuple(reversed(t.shape.tolist())))
                  for t in reader.tensors}
        self.types = {t.name: t.tensor_type.name for t in reader.tensors}

    def logits(self, ids) -> np.ndarray:
        m, w = self.meta, self.w
        heads, groups = m["llama.attention.head_count"], m["llama.attention.head_count_kv"]
        size, eps = m["llama.attention.key_length"], m["llama.attention.layer_norm_rms_epsilon"]
        norm = lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * g
        angle = np.outer(np.arange(len(ids)), m["llama.rope.freq_base"] ** (-np.arange(0, size, 2) / size))
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

        def turn(x, n):
            x = x.reshape(len(ids), n, size // 2, 2)
            a, b = x[..., 0], x[..., 1]
            return np.stack((a * cos - b * sin, a * sin + b * cos), -1).reshape(len(ids), n, size)

        x = w["token_embd.weight"][ids]
        future = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
        for i in range(m["llama.block_count"]):
            b = lambda name: w[f"blk.{i}.{name}.weight"]
            h = norm(x, b("attn_norm"))
            q, k = turn(h @ b("attn_q").T, heads), turn(h @ b("attn_k").T, groups)
            v = (h @ b("attn_v").T).reshape(len(ids), groups, size)
            mixed = []
            for j in range(heads):
                g = j * groups // heads
                s = q[:, j] @ k[:, g].T / np.sqrt(size) + future
                p = np.exp(s - s.max(-1, keepdims=True))
                mixed.append(p / p.sum(-1, keepdims=True) @ v[:, g])
            x = x + np.concatenate(mixed, -1) @ b("attn_output").T
            h = norm(x, b("ffn_norm"))
            gate = h @ b("ffn_gate").T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ b("ffn_up").T)) @ b("ffn_down").T
        return norm(x, w["output_norm.weight"]) @ w["token_embd.weight"].T


def nll(logits, ids):
    top = logits.max(-1, keepdims=True)
    log_sum = np.log(np.exp(logits - top).sum(-1)) + top[:, 0]
    return log_sum[:-1] - logits[np.arange(len(ids) - 1), ids[1:]]


def main():
    import sentencepiece as spm
    import torch
    from model import Config, Llama
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", type=Path)
    ap.add_argument("checkpoint", type=Path)
    ap.add_argument("gguf", type=Path)
    args = ap.parse_args()
    model = Gguf(args.gguf)
    for key, value in model.meta.items():
        if not key.startswith(("GGUF", "tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type")):
            print(f"  {key} = {value!r}")
    print(f"  {len(model.w)} tensors:", {t: sum(x == t for x in model.types.values()) for t in set(model.types.values())})

    sp = spm.SentencePieceProcessor(model_file=str(args.out / "tokenizer.model"))
    assert model.meta["tokenizer.ggml.tokens"] == [sp.id_to_piece(i) for i in range(sp.vocab_size())]
    assert np.array_equal(np.float32(model.meta["tokenizer.ggml.scores"]),
                          np.float32([sp.get_score(i) for i in range(sp.vocab_size())]))

    state = torch.load(args.checkpoint, map_location="cpu", weights_only=True)
    trained = Llama(Config(**state["config"]))
    trained.load_state_dict(state["model"])
    ids = np.fromfile(args.out / "eval.bin", dtype=np.uint16)[100000:100000 + 512].astype(np.int64)
    with torch.no_grad():
        want = trained(torch.from_numpy(ids)[None])[0].numpy()
    got = model.logits(ids)
    p = np.exp(want - want.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    q = np.exp(got - got.max(-1, keepdims=True))
    q /= q.sum(-1, keepdims=True)
    kl = (p * (np.log(p) - np.log(q))).sum(-1).mean()
    a, b = nll(want, ids).mean(), nll(got, ids).mean()
    print(f"loss over 511 held-out tokens: checkpoint {a:.5f}, GGUF {b:.5f}; KL {kl:.2e}; "
          f"same best token {np.mean(want.argmax(-1) == got.argmax(-1)):.3f}; largest logit difference {abs(want - got).max():.3f}")
    assert kl < 1e-3 and abs(a - b) < 5e-3
    print("ok")


if __name__ == "__main__":
    main()
