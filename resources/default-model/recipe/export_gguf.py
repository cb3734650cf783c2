"""The export: a checkpoint and its tokenizer become one GGUF file that any engine for the Llama architecture can read.

    python export_gguf.py OUT CHECKPOINT.pt MODEL.gguf     (OUT holds tokenizer.model)
"""
import argparse
import os
from pathlib import Path

import gguf
import numpy as np
import sentencepiece as spm
import torch

from corpus import NORMALIZER

TEMPLATE = ("{% for m in messages %}{% if m['role'] == 'user' %}<|user|>{{ m['content'] }}<|end|>"
            "{% else %}<|assistant|>{{ m['content'] }}<|end|>{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")
MATRICES = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output",
            "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
NORMS = {"attn_norm": "attn_norm", "ffn_norm": "ffn_norm"}
Q8_0 = gguf.GGMLQuantizationType.Q8_0


def to_pairs(w: np.ndarray, heads: int) -> np.ndarray:
    """Rows of Q or K from half-split rotary order (i with i + n/2) to adjacent pairs (2i with 2i + 1)."""
    return w.reshape(heads, 2, -1, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def tensors(w: dict, c: dict):
    """(name in the file, float32 array), in the order of the file. Matrices are quantised, norms are not."""
    yield "token_embd.weight", w["embed.weight"]
    for i in range(c["layers"]):
        for mine, theirs in NORMS.items():
            yield f"blk.{i}.{theirs}.weight", w[f"blocks.{i}.{mine}.weight"]
        for mine, theirs in MATRICES.items():
            x = w[f"blocks.{i}.{mine}.weight"]
            heads = {"q": c["heads"], "k": c["kv_heads"]}.get(mine)
            yield f"blk.{i}.{theirs}.weight", to_pairs(x, heads) if heads else x
    yield "output_norm.weight", w["norm.weight"]


def add_shape(out: gguf.GGUFWriter, c: dict):
    out.add_context_length(c["context"])
    out.add_embedding_length(c["dim"])
    out.add_block_count(c["layers"])
    out.add_feed_forward_length(c["ffn"])
    out.add_head_count(c["heads"])
    out.add_head_count_kv(c["kv_heads"])
    out.add_key_length(c["head_dim"])
    out.add_value_length(c["head_dim"])
    out.add_rope_dimension_count(c["head_dim"])
    out.add_rope_freq_base(c["rope_base"])
    out.add_layer_norm_rms_eps(c["eps"])
    out.add_vocab_size(c["vocab"])


def add_tokenizer(out: gguf.GGUFWriter, sp: spm.SentencePieceProcessor):
    kind, pieces = gguf.TokenType, range(sp.vocab_size())
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list([sp.id_to_piece(i) for i in pieces])
    out.add_token_scores([sp.get_score(i) for i in pieces])
    out.add_token_types([int(kind.UNKNOWN if sp.is_unknown(i) else kind.CONTROL if sp.is_control(i) else
                             kind.BYTE if sp.is_byte(i) else kind.USER_DEFINED if sp.id_to_piece(i) == "\n" else
                             kind.NORMAL) for i in pieces])
    out.add_unk_token_id(sp.unk_id())
    out.add_bos_token_id(sp.bos_id())
    out.add_eos_token_id(sp.eos_id())
    out.add_eot_token_id(sp.piece_to_id("<|end|>"))
    out.add_add_bos_token(True)
    out.add_add_eos_token(False)
    out.add_add_space_prefix(True)
    out.add_remove_extra_whitespaces(False)
    out.add_chat_template(TEMPLATE)
    out.add_string("palimpsest.normalizer", NORMALIZER)  # corpus.normalize comes before the tokenizer


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", type=Path)
    ap.add_argument("checkpoint", type=Path)
    ap.add_argument("gguf", type=Path)
    args = ap.parse_args()
    state = torch.load(args.checkpoint, map_location="cpu", weights_only=True)
    c, w = state["config"], {k: v.float().numpy() for k, v in state["model"].items()}
    sp = spm.SentencePieceProcessor(model_file=str(args.out / "tokenizer.model"))
    assert sp.vocab_size() == c["vocab"]

    part = args.gguf.with_name(args.gguf.name + ".part")
    out = gguf.GGUFWriter(part, "llama")
    out.add_name("palimpsest-small")
    out.add_license("apache-2.0")
    out.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    out.add_quantization_version(gguf.GGML_QUANT_VERSION)
    add_shape(out, c)
    add_tokenizer(out, sp)
    for name, x in tensors(w, c):
        if x.ndim == 1:
            out.add_tensor(name, x)
        else:
            out.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(x), Q8_0), raw_dtype=Q8_0)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    size = part.stat().st_size
    assert size <= 32 << 20, size
    os.replace(part, args.gguf)  # a reader sees the old file or the new one, never half of one
    print(f"{args.gguf.name}: {size / 2**20:.2f} MiB, from a checkpoint of {state['progress']['tokens'] / 1e6:.2f} M tokens")


if __name__ == "__main__":
    main()
