"""Finds the source files of a checkout and splits them into tokens, comments and strings."""
import bisect
import io
import pathlib
import re
import subprocess
import tokenize

CPP = (".h", ".cuh", ".cpp", ".cu")
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

CPP_TOKEN = re.compile(
    r"""
      (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
    | (?P<directive>^[ \t]*\#(?:"(?:\\.|[^"\\\n])*"|\\.|/(?![/*])|[^\n\\/"])*)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<space>\s+)
    | (?P<mark_of_code>::|->|<<=|>>=|<=>|\.\.\.|[-+*/%&|^=!<>]=|&&|\|\||<<|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
HASH_COMMENT = r"""(?P<comment>\#\[(?P<equals>=*)\[.*?\](?P=equals)\]|(?<![^\s;()"'])\#[^\n]*)"""
SHELL_TOKEN = re.compile(HASH_COMMENT + r"""|(?P<string>"(?:\\.|[^"\\])*"|'[^']*')|\\.|[^\s"'\\#]+|.""", re.DOTALL)
CMAKE_TOKEN = re.compile(HASH_COMMENT + r"""|(?P<string>"(?:\\.|[^"\\])*")|\\.|[^\s"\\#]+|.""", re.DOTALL)


class Lines:
    """Converts offsets of a text to line numbers, which begin at 1."""

    def __init__(self, text):
        self._starts = [0] + [found.end() for found in re.finditer("\n", text)]

    def of(self, offset):
        return bisect.bisect_right(self._starts, offset)


class Token:
    """A piece of C++ or CUDA source: `kind` is a group name of CPP_TOKEN."""

    __slots__ = ("kind", "text", "line")

    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line

    @property
    def last_line(self):
        return self.line + self.text.count("\n")


class Block:
    """Adjacent comment lines, a string or a paragraph as one text, with the line number of each character.

    `kind`: "comment", "string", "prose", or "code" for words of shell and CMake files and lines of code in pages.
    `first` and `last` are line numbers.
    """

    def __init__(self, kind, pieces):
        self.kind = kind
        self.text = ""
        self._offsets, self._lines = [], []
        for line, piece in pieces:
            if self.text:
                self.text += " "
            self._offsets.append(len(self.text))
            self._lines.append(line)
            self.text += piece
        self.first, self.last = self._lines[0], self._lines[-1]

    def line_of(self, offset):
        return self._lines[max(bisect.bisect_right(self._offsets, offset) - 1, 0)]


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def list_files(root):
    """Paths below `root`, relative to it: what git tracks or would track; without git, all but build folders."""
    root = pathlib.Path(root).resolve()
    try:
        top = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if pathlib.Path(top).resolve() == root:
            listed = subprocess.run(
                ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            return sorted(name for name in set(listed.split("\0")) if name and (root / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        pass
    names, folders = [], [root]
    while folders:
        for path in folders.pop().iterdir():
            if path.is_symlink():
                continue
            if path.is_dir():
                hidden = path.name.startswith(".") and path.name != ".ci"
                if not hidden and path.name not in ("build", "__pycache__") and not (path / "CMakeCache.txt").exists():
                    folders.append(path)
            elif path.is_file():
                names.append(str(path.relative_to(root)))
    return sorted(names)


def language(root, name):
    """"cpp", "python", "shell", "cmake", "markdown", or None for other files."""
    path = pathlib.PurePosixPath(name)
    if path.suffix in CPP:
        return "cpp"
    if path.suffix == ".py":
        return "python"
    if path.suffix == ".sh":
        return "shell"
    if path.suffix == ".cmake" or path.name == "CMakeLists.txt":
        return "cmake"
    if path.suffix == ".md":
        return "markdown"
    if not path.suffix:
        with open(pathlib.Path(root) / name, "rb") as file:
            first = file.readline(200)
        if first.startswith(b"#!"):
            return "python" if b"python" in first else "shell" if b"sh" in first else None
    return None


def cpp_tokens(text):
    """All tokens but white space, comments and directives included."""
    tokens, line, at = [], 1, 0
    for found in CPP_TOKEN.finditer(text):
        if found.start() != at:
            raise ValueError(f"no token at line {line}")
        at = found.end()
        if found.lastgroup != "space":
            tokens.append(Token(found.lastgroup, found.group(), line))
        line += found.group().count("\n")
    return tokens


def without_mark(line):
    return re.sub(r"^\s*(?://+[!<]?|/\*+|\*+/|\*(?!\*)|#+)?\s?|\s*\*/\s*$", "", line).strip()


def join_comments(comments):
    """Joins comments of adjacent lines that begin in one column; one behind code begins a new block.

    `comments`: (line, column, text, whether it is behind code).
    """
    blocks, pieces, next_line, next_column = [], [], 0, 0
    for line, column, text, behind_code in comments:
        if pieces and (behind_code or line != next_line or column != next_column):
            blocks.append(Block("comment", pieces))
            pieces = []
        rows = text.split("\n")
        pieces += [(line + i, without_mark(row)) for i, row in enumerate(rows)]
        next_line, next_column = line + len(rows), column
    if pieces:
        blocks.append(Block("comment", pieces))
    return blocks


def place(text, lines, offset):
    """Line, column, and whether anything but white space precedes `offset` on its line."""
    start = text.rfind("\n", 0, offset) + 1
    return lines.of(offset), offset - start, bool(text[start:offset].strip())


def string_content(token):
    return re.sub(r"^[^\"']*[\"']|[\"']$", "", token)


def cpp_blocks(text):
    lines, comments, blocks = Lines(text), [], []
    for found in CPP_TOKEN.finditer(text):
        if found.lastgroup == "comment":
            line, column, behind_code = place(text, lines, found.start())
            comments.append((line, column, found.group(), behind_code))
        elif found.lastgroup in ("string", "raw", "directive"):
            line = lines.of(found.start())
            content = found.group() if found.lastgroup == "directive" else string_content(found.group())
            blocks.append(Block("string", [(line + i, row) for i, row in enumerate(content.split("\n"))]))
    return join_comments(comments) + blocks


def python_blocks(text):
    """Docstrings count as comments."""
    comments, blocks = [], []
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT:
            comments.append((line, column, token.string, bool(token.line[:column].strip())))
        elif token.type == tokenize.STRING:
            content = re.sub(r"^[A-Za-z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", token.string)
            rows = [(line + i, row.strip()) for i, row in enumerate(content.split("\n"))]
            blocks.append(Block("comment" if begins_statement else "string", rows))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return join_comments(comments) + blocks


def hash_blocks(text, pattern):
    """Of shell and CMake files: comments, strings, and the words outside of both."""
    lines, comments, blocks, words = Lines(text), [], [], {}
    for found in pattern.finditer(text):
        line, column, behind_code = place(text, lines, found.start())
        if found.lastgroup == "comment":
            comments.append((line, column, found.group(), behind_code))
        elif found.lastgroup == "string":
            rows = found.group()[1:-1].split("\n")
            blocks.append(Block("string", [(line + i, row) for i, row in enumerate(rows)]))
        else:
            words.setdefault(line, []).append(found.group())
    blocks += [Block("code", [(line, "".join(parts))]) for line, parts in words.items()]
    return join_comments(comments) + blocks


def blocks(kind, text):
    """Comments, strings and words of a source file; `kind` as language() answers, but not "markdown"."""
    if kind == "cpp":
        return cpp_blocks(text)
    if kind == "python":
        return python_blocks(text)
    return hash_blocks(text, CMAKE_TOKEN if kind == "cmake" else SHELL_TOKEN)
