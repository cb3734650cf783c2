"""The model: a plain Llama decoder (RMSNorm, rotary positions, grouped-query attention, SwiGLU, tied embeddings)."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    layers: int = 8
    dim: int = 192
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64  # heads * head_dim need not be dim
    ffn: int = 512
    vocab: int = 8192
    context: int = 2048
    rope_base: float = 10000.0
    eps: float = 1e-5


def rope_tables(cfg: Config, length: int):
    freq = cfg.rope_base ** (-torch.arange(0, cfg.head_dim, 2).float() / cfg.head_dim)
    angle = torch.outer(torch.arange(length).float(), freq)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Half-split rotary embedding: dimension i turns together with i + head_dim / 2. x: (batch, heads, time, head_dim)"""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Block(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        wide, kv = cfg.heads * cfg.head_dim, cfg.kv_heads * cfg.head_dim
        self.attn_norm = nn.RMSNorm(cfg.dim, eps=cfg.eps)
        self.q = nn.Linear(cfg.dim, wide, bias=False)
        self.k = nn.Linear(cfg.dim, kv, bias=False)
        self.v = nn.Linear(cfg.dim, kv, bias=False)
        self.o = nn.Linear(wide, cfg.dim, bias=False)
        self.ffn_norm = nn.RMSNorm(cfg.dim, eps=cfg.eps)
        self.gate = nn.Linear(cfg.dim, cfg.ffn, bias=False)
        self.up = nn.Linear(cfg.dim, cfg.ffn, bias=False)
        self.down = nn.Linear(cfg.ffn, cfg.dim, bias=False)

    def forward(self, x, cos, sin):
        c, (b, t, _) = self.cfg, x.shape
        h = self.attn_norm(x)
        split = lambda y, n: y.view(b, t, n, c.head_dim).transpose(1, 2)
        q = rotate(split(self.q(h), c.heads), cos, sin)
        k = rotate(split(self.k(h), c.kv_heads), cos, sin)
        v = split(self.v(h), c.kv_heads)
        group = c.heads // c.kv_heads
        k, v = (y.repeat_interleave(group, 1) for y in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, -1))
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, cfg: Config, seed: int = 1):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = nn.RMSNorm(cfg.dim, eps=cfg.eps)
        cos, sin = rope_tables(cfg, cfg.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        rng = torch.Generator().manual_seed(seed)
        for name, p in self.named_parameters():
            if p.ndim < 2:
                continue
            if name.endswith(("o.weight", "down.weight")):
                nn.init.zeros_(p)  # every block starts as the identity
            elif name == "embed.weight":
                nn.init.normal_(p, std=0.04, generator=rng)
            else:
                nn.init.normal_(p, std=cfg.dim ** -0.5 / 2, generator=rng)

    def hidden(self, ids):
        x = self.embed(ids)
        dtype = torch.get_autocast_dtype(x.device.type) if torch.is_autocast_enabled(x.device.type) else x.dtype
        x = x.to(dtype)
        cos, sin = self.cos[:ids.shape[1]].to(dtype), self.sin[:ids.shape[1]].to(dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.norm(x)

    def forward(self, ids):
        return F.linear(self.hidden(ids), self.embed.weight)

    def loss(self, ids, targets, weights=None):
        """Mean cross entropy in nats; with weights, the sum over the positions times their weights."""
        nll = F.cross_entropy(self(ids).flatten(0, 1).float(), targets.flatten(), reduction="none")
        return nll.mean() if weights is None else (nll * weights.flatten()).sum()
