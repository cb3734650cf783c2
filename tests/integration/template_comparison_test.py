#!/usr/bin/env python3
"""Compares the rendering of published chat templates with Jinja2's, on thirty conversations each.

The templates belong to other projects and are not in this repository: a source tree of llama.cpp, as PyPI's
llama-cpp-python carries it, a folder of .jinja files, or GGUF files (with PyPI's gguf). Usage:
  template_comparison_test.py RENDER_TEMPLATE [FOLDER_OR_FILE ...]
Without a folder it uses those that PALIMPSEST_TEMPLATES names, separated by colons. Without templates or without
Jinja2 it prints "not run" and exits with 77."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fixtures" / "templates"))
import conversations  # noqa: E402


# Templates that Jinja2 refuses and this program renders, each with the reason.
ALSO_RENDERED = {
    # Writes the result of "tools | map" as JSON: Jinja2's is a generator, which json.dumps refuses, and ours is a list.
    "llama-cpp-deepseek-r1.jinja",
}


def of_gguf(path):
    try:
        import gguf
    except ImportError:
        return
    field = gguf.GGUFReader(str(path)).fields.get("tokenizer.chat_template")
    if field:
        yield path.name, bytes(field.parts[field.data[0]]).decode()


def of_cpp_test(path):
    """The templates in the string literals of llama.cpp's test-chat-template.cpp."""
    source = path.read_text()
    for i, match in enumerate(re.finditer(r"\.?template_str\s*(?:=|\*/)\s*((?:(?:R\"([A-Za-z]*)\(.*?\)\2\"|\"(?:[^\"\\]|\\.)*\")\s*)+)", source, re.S)):
        text = ""
        for literal in re.finditer(r"R\"([A-Za-z]*)\((.*?)\)\1\"|\"((?:[^\"\\]|\\.)*)\"", match[1], re.S):
            text += literal[2] if literal[2] is not None else json.loads('"' + literal[3].replace("\\'", "'") + '"')
        if "{" in text:
            yield f"{path.name} {i}", text


def templates(places):
    for place in map(Path, places):
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in files:
            if path.suffix == ".jinja":
                yield path.name, path.read_text()
            elif path.suffix == ".gguf" and path.stat().st_size > 0:
                yield from of_gguf(path)
            elif path.name == "test-chat-template.cpp":
                yield from of_cpp_test(path)
            elif path.name == "tokenizer_config.json":
                value = json.loads(path.read_text()).get("chat_template")
                if isinstance(value, str):
                    yield f"{path.parent.name}/{path.name}", value


def not_run(why):
    print(f"not run: {why}")
    sys.exit(77)


def main():
    program, *places = sys.argv[1:]
    places = places or [p for p in os.environ.get("PALIMPSEST_TEMPLATES", "").split(":") if p]
    if not places:
        not_run("no templates given (PALIMPSEST_TEMPLATES)")
    try:
        env = conversations.environment()
    except ImportError:
        not_run("Jinja2 is not installed")
    found = list(templates(places))
    if not found:
        not_run("no templates found")
    contexts = conversations.conversations()
    jobs = "".join(json.dumps({"template": source, "contexts": contexts}) + "\n" for _, source in found)
    lines = subprocess.run([program], input=jobs, capture_output=True, text=True, check=True).stdout
    lines = lines.removesuffix("\n").split("\n")  # templates may print other line ends
    assert len(lines) == len(found)
    equal = refused_by_both = rendered_alone = wrong = 0
    for (name, source), line in zip(found, lines):
        for i, (expected, got) in enumerate(zip(conversations.rendered(env, source, contexts), json.loads(line))):
            if expected is None:
                if "error" in got:
                    refused_by_both += 1
                elif name in ALSO_RENDERED:
                    rendered_alone += 1
                else:
                    wrong += 1
                    print(f"{name}, conversation {i}: Jinja2 refuses it, but it was rendered")
                continue
            if got.get("text") == expected:
                equal += 1
                continue
            wrong += 1
            print(f"{name}, conversation {i}: {got.get('error', 'another text')}")
            if "text" in got and "-v" in os.environ.get("PALIMPSEST_TEMPLATES_FLAGS", ""):
                print("  expected", repr(expected), "\n  got     ", repr(got["text"]))
    print(f"{len(found)} templates: {equal} renderings equal, {wrong} differ, {refused_by_both} refused by both, "
          f"{rendered_alone} refused by Jinja2 and rendered, as listed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
