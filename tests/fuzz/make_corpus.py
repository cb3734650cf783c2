#!/usr/bin/env python3
"""Writes the seeds of corpus/: minimal valid files, so that most mutations hit headers (standard library only)."""
import json
import shutil
import struct
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "corpus"
MODELS = HERE.parent.parent / "fixtures" / "models"
FAMILIES = HERE.parent.parent / "fixtures" / "families"
DOCUMENTS = HERE.parent.parent / "fixtures" / "documents"
sys.path.insert(0, str(HERE.parent.parent / "integration"))
from document_files import docx, epub, odt, pdf, zipped  # noqa: E402
U32, I32, F32, BOOL, STR, ARR = 4, 5, 6, 7, 8, 9
DIM, HEADS, KV_HEADS, FFN, VOCABULARY = 8, 2, 1, 8, 3


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(kind, v):
    if kind == STR:
        return text(v)
    if kind == ARR:
        element, items = v
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, i) for i in items)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], v)


def shapes(dim, ffn, vocabulary, bias):
    kv = dim * KV_HEADS // HEADS
    out = {"token_embd.weight": (vocabulary, dim), "output_norm.weight": (dim,), "blk.0.attn_norm.weight": (dim,),
           "blk.0.attn_q.weight": (dim, dim), "blk.0.attn_k.weight": (kv, dim), "blk.0.attn_v.weight": (kv, dim),
           "blk.0.attn_output.weight": (dim, dim), "blk.0.ffn_norm.weight": (dim,), "blk.0.ffn_gate.weight": (ffn, dim),
           "blk.0.ffn_up.weight": (ffn, dim), "blk.0.ffn_down.weight": (dim, ffn)}
    if bias:
        out.update({"blk.0.attn_q.bias": (dim,), "blk.0.attn_k.bias": (kv,), "blk.0.attn_v.bias": (kv,)})
    return out


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def gguf(arch="llama", dim=DIM, ffn=FFN, q8=False, bias=False, more=(), tokenizer="llama", extra=(), without=(),
         pieces=("<unk>", "<0x0A>", "a"), types=(2, 6, 1)):
    pairs = [("general.architecture", STR, arch), (f"{arch}.block_count", U32, 1), (f"{arch}.context_length", U32, 16),
             (f"{arch}.embedding_length", U32, dim), (f"{arch}.feed_forward_length", U32, ffn),
             (f"{arch}.attention.head_count", U32, HEADS), (f"{arch}.attention.head_count_kv", U32, KV_HEADS),
             (f"{arch}.attention.layer_norm_rms_epsilon", F32, 1e-5), ("tokenizer.ggml.model", STR, tokenizer),
             ("tokenizer.ggml.tokens", ARR, (STR, list(pieces))),
             ("tokenizer.ggml.scores", ARR, (F32, [0.0, 0.0, *[-1.0] * (len(pieces) - 2)])),
             ("tokenizer.ggml.token_type", ARR, (I32, list(types))), *more]
    infos, data = b"", b""
    tensors = [(n, s) for n, s in shapes(dim, ffn, VOCABULARY, bias).items() if n not in without] + list(extra)
    for name, shape in tensors:
        as_q8 = q8 and len(shape) == 2
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 8 if as_q8 else 0, len(data))
        data += b"\x01" * (product(shape) // 32 * 34 if as_q8 else product(shape) * 4)
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    head += b"".join(text(k) + struct.pack("<I", t) + value(t, v) for k, t, v in pairs) + infos
    return head + b"\0" * (-len(head) % 32) + data


HF = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "blk.0.attn_norm": "model.layers.0.input_layernorm",
      "blk.0.attn_q": "model.layers.0.self_attn.q_proj", "blk.0.attn_k": "model.layers.0.self_attn.k_proj",
      "blk.0.attn_v": "model.layers.0.self_attn.v_proj", "blk.0.attn_output": "model.layers.0.self_attn.o_proj",
      "blk.0.ffn_norm": "model.layers.0.post_attention_layernorm", "blk.0.ffn_gate": "model.layers.0.mlp.gate_proj",
      "blk.0.ffn_up": "model.layers.0.mlp.up_proj", "blk.0.ffn_down": "model.layers.0.mlp.down_proj"}


def safetensors(dtype, size, pad=0, extra=()):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    named = [(HF[n.rsplit(".", 1)[0]] + ".weight", s) for n, s in shapes(DIM, FFN, VOCABULARY, False).items()]
    for name, shape in [*named, *extra]:
        end = at + product(shape) * size
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    head = json.dumps(header, separators=(",", ":")).encode() + b" " * pad
    return struct.pack("<Q", len(head)) + head + b"\x3c" * at


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def character_map():
    """A trie of 256 units whose root has a value: the smallest one that check_spm_model accepts."""
    units = [0] * 256
    units[0], units[255] = 1 << 8 | 255 << 10, 1 << 31
    blob = struct.pack("<I", 1024) + struct.pack("<256I", *units) + b"x\0"
    return field(3, field(2, blob))


def spm(normalizer=b""):
    def piece(s, kind):
        return field(1, field(1, s.encode()) + b"\x15" + struct.pack("<f", -1.0) + b"\x18" + bytes([kind]))
    bytes_ = b"".join(piece("<0x%02X>" % i, 6) for i in range(256))
    trainer = field(2, b"\x18\x02" + b"\x98\x02\x01")  # BPE, byte_fallback
    pieces = piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("<m>", 4) + piece("a", 1) + piece("pa", 1)
    return pieces + piece("\u2581", 1) + piece("p", 1) + (b"" if normalizer else bytes_ + trainer) + normalizer


def write(kind, name, data):
    folder = HERE / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def tokenizer_json(byte_level):
    space = "\u0120" if byte_level else "\u2581"
    vocabulary = {"<|end|>": 0, "a": 1, "b": 2, "ab": 3, space: 4, space + "ab": 5, "<0x0A>": 6, "\n\n": 7}
    return json.dumps({
        "added_tokens": [{"id": 0, "content": "<|end|>", "special": True}, {"id": 7, "content": "\n\n", "normalized": False}],
        "normalizer": {"type": "NFC"} if byte_level else {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": space}, {"type": "Replace", "pattern": {"String": " "}, "content": space}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, {"type": "ByteLevel", "add_prefix_space": False}]} if byte_level else None,
        "post_processor": {"type": "TemplateProcessing", "single": [
            {"SpecialToken": {"id": "<|end|>"}}, {"Sequence": {"id": "A"}}]},
        "decoder": {"type": "ByteLevel"} if byte_level else {"type": "Fuse"},
        "model": {"type": "BPE", "unk_token": None, "byte_fallback": not byte_level, "vocab": vocabulary,
                  "merges": [["a", "b"], f"{space} ab"]}}).encode()


def plain_parts(archive, most_bytes=20_000):
    """The parts that are text, as plain_archive.h takes them."""
    with zipfile.ZipFile(archive) as parts:
        names = [i.filename for i in parts.infolist() if i.file_size <= most_bytes and (
            i.filename == "mimetype" or i.filename.endswith(("ml", ".opf", ".ncx", ".rels")))]
        return b"".join(b"@@%s\n%s" % (name.encode(), parts.read(name).replace(b"@@", b"@")) for name in names)


def message(kind, payload):
    return struct.pack("<BI", kind, len(payload)) + payload


def counted(s):
    return struct.pack("<I", len(s)) + s


def write_documents():
    small = {"epub": epub({"a.xhtml": "<h1>One</h1><p>a<br/>b</p>", "b.xhtml": "<h2>Two</h2><ul><li>c</li></ul>"}),
             "docx": docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>"), "odt": odt("<t:h t:outline-level='1'>a</t:h><t:p>b</t:p>")}
    for kind, made in small.items():
        write("zip", kind, made)
        (HERE / "scratch").write_bytes(made)
        write(kind, "small", plain_parts(HERE / "scratch"))
        (HERE / "scratch").unlink()
    write("zip", "stored", zipped({"a": b"a" * 40, "b/c": b""}, zipfile.ZIP_STORED))
    for name in ("ebooklib-languages.epub", "pandoc-poems.epub", "abiword-poems.docx", "libreoffice-changes.docx",
                 "abiword-wide.odt", "libreoffice-changes.odt"):
        stem, kind = name.split(".")
        write(kind, stem, plain_parts(DOCUMENTS / name))
    for name in ("pandoc-poems", "sphinx-poems", "pandoc-wide-windows", "groff-poems"):
        write("html", name, (DOCUMENTS / (name + ".html")).read_bytes())
    write("html", "table", b"<!doctype html><html><title>a</title><nav>n</nav><main><h1>b</h1><table><tr><td>c<td>d</table>"
                           b"<ol start=3><li>e<li>f</ol><pre>g\n h</pre><p hidden>i<p>&amp;&#x26;&nbsp;</main></html>")
    write("xml", "plain", b'<?xml version="1.0"?><!DOCTYPE a PUBLIC "b" "c"><a b="&lt;&#65;"><c:d>e</c:d><!-- f --><![CDATA[<g>]]>'
                          b"<?h i?></a>")
    write("xml", "entity", b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///c">]><a>&b;</a>')
    write("xml", "utf16", b"\xff\xfe" + "<a>\u00e4</a>".encode("utf-16-le"))
    lines = [(50, 100 + 12 * i, "The keeper wrote line %d of the page-" % i) for i in range(3)]
    write("pdf", "small", pdf([lines]))
    write("pdf", "outline", pdf([lines, [], lines], [("One", 0), ("Two", 2)], "0 << /S /r >> 2 << /S /D >>"))
    write("pdf", "groff-poems", (DOCUMENTS / "groff-poems.pdf").read_bytes())
    hello = message(0, b"PALR" + struct.pack("<I", 1) + counted(b"EPUB"))
    write("protocol", "document", hello + message(1, b"\0" + counted(b"The Salt Road")) + message(3, b"\1" + counted(b"One")) +
          message(4, counted(b"xii")) + message(2, "The keeper \u00e4".encode()) + message(6, struct.pack("<QQ", 1, 2)) +
          message(7, struct.pack("<Q", 13)))
    write("protocol", "problem", hello + message(8, b"\0" + counted(b"v13:it is damaged") + counted(b"v12:get it again")))
    write("protocol", "note", hello + message(5, counted(b"v14:a picture page")))
    for schema in "123456":
        write("db_open", "schema-" + schema, schema.encode() + struct.pack("<I", 60 | 4 << 24) + struct.pack(">I", int(schema)))
    write("db_open", "raw", b"r" + (HERE.parent.parent / "fixtures" / "databases" / "schema-1.db").read_bytes()[:8192])


def main():
    for kind in ("gguf", "safetensors", "config", "tokenizer", "jinja", "zip", "xml", "html", "epub", "docx", "odt", "pdf",
                 "protocol", "db_open"):
        shutil.rmtree(HERE / kind, ignore_errors=True)
    write_documents()
    write("gguf", "llama", gguf(more=[("general.alignment", U32, 32), ("tokenizer.ggml.eos_token_id", U32, 2),
                                      ("tokenizer.ggml.add_bos_token", BOOL, True)]))
    write("gguf", "linear", gguf(more=[("llama.rope.scaling.type", STR, "linear"), ("llama.rope.scaling.factor", F32, 2.0),
                                       ("llama.rope.freq_base", F32, 1e4), ("llama.rope.dimension_count", U32, 4)]))
    write("gguf", "rope-freqs", gguf(extra=[("rope_freqs.weight", (2,)), ("output.weight", (3, 8))]))
    write("gguf", "qwen2", gguf("qwen2", bias=True, tokenizer="gpt2"))
    write("gguf", "q8_0", gguf(dim=64, ffn=32, q8=True))
    write("gguf", "big-head", gguf(more=[("llama.attention.key_length", U32, 4), ("llama.vocab_size", U32, 3),
                                         ("tokenizer.chat_template", STR, "{{ x }}")]))
    write("gguf", "yarn", gguf(more=[("llama.rope.scaling.type", STR, "yarn"), ("llama.rope.scaling.factor", F32, 4.0),
                                     ("llama.rope.scaling.original_context_length", U32, 4),
                                     ("llama.rope.scaling.yarn_attn_factor", F32, 1.1)]))
    write("gguf", "longrope", gguf(more=[("llama.rope.scaling.type", STR, "longrope")],
                                   extra=[("rope_factors_short.weight", (2,)), ("rope_factors_long.weight", (2,))]))
    write("gguf", "gemma3", gguf(
        "gemma3", pieces=("<unk>", "<0x0A>", "a", "<image>"), types=(2, 6, 1, 4),
        more=[("gemma3.rope.global.freq_base", F32, 1e6), ("gemma3.rope.local.freq_base", F32, 1e4),
              ("gemma3.attention.sliding_window", U32, 4), ("gemma3.final_logit_softcapping", F32, 30.0)],
        extra=[("blk.0.post_attention_norm.weight", (8,)), ("blk.0.post_ffw_norm.weight", (8,)),
               ("blk.0.attn_q_norm.weight", (4,)), ("blk.0.attn_k_norm.weight", (4,)), ("v.patch_embd.weight", (2, 2))]))
    parts = ("gate", "up", "down")
    write("gguf", "experts", gguf(
        more=[("llama.expert_count", U32, 2), ("llama.expert_used_count", U32, 1)],
        without=[f"blk.0.ffn_{part}.weight" for part in parts],
        extra=[("blk.0.ffn_gate_inp.weight", (2, 8)), *((f"blk.0.ffn_{part}_exps.weight", (2, 8, 8)) for part in parts)]))
    write("safetensors", "f32", safetensors("F32", 4))
    write("safetensors", "bf16-odd", safetensors("BF16", 2, pad=1))
    write("safetensors", "f16-extra", safetensors("F16", 2, extra=[("lm_head.weight", (3, 8)), ("notes", ())]))
    for folder in ("llama", "llama3-scaled", "llama-linear", "qwen2", "mistral"):
        write("config", folder, (MODELS / folder / "config.json").read_bytes())
    for path in sorted(FAMILIES.glob("*/config.json")):
        write("config", path.parent.name, path.read_bytes())
    write("config", "index", (MODELS / "llama-linear" / "model.safetensors.index.json").read_bytes())
    write("tokenizer", "spm", b"m" + spm())
    write("tokenizer", "spm-map", b"m" + spm(character_map()))
    write("tokenizer", "spm-llama", b"m" + (MODELS / "llama" / "tokenizer.model").read_bytes())
    write("tokenizer", "json-bytes", b"j" + tokenizer_json(byte_level=True))
    write("tokenizer", "json-characters", b"j" + tokenizer_json(byte_level=False))
    write("tokenizer", "gguf-llama3", b"g" + gguf(tokenizer="gpt2", more=[
        ("tokenizer.ggml.pre", STR, "llama-bpe"), ("tokenizer.ggml.merges", ARR, (STR, [])),
        ("tokenizer.ggml.eos_token_id", U32, 0)]))
    write("tokenizer", "config", b"c" + (MODELS / "llama" / "tokenizer_config.json").read_bytes())
    write("tokenizer", "templates", b"c" + json.dumps(
        {"bos_token": "<s>", "eos_token": {"content": "w4"}, "add_bos_token": False,
         "chat_template": [{"name": "default", "template": "x"}]}).encode())
    for path in sorted(MODELS.parent.joinpath("templates").glob("*.jinja")):
        write("jinja", path.stem, path.read_bytes())


if __name__ == "__main__":
    main()
