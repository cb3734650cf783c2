"""A C++ or CUDA file as tokens with matched brackets, and the values of its string literals."""
import re

import sources

PARTNERS = {"(": ")", "[": "]", "{": "}"}
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|u([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def literal_value(text):
    """The characters of a string literal, given as it stands in the source."""
    if text[: text.index('"')].endswith("R"):
        return text[text.index("(") + 1 : text.rindex(")")]

    def decoded(found):
        number = found[1] or found[2]
        if number:
            return chr(int(number, 16))
        return chr(int(found[3], 8)) if found[3] else ESCAPED.get(found[4], found[4])

    value = ESCAPE.sub(decoded, text[text.index('"') + 1 : -1])
    # "\xe2\x80\xa6" is UTF-8 in bytes.
    if any(0x80 <= ord(c) < 0x100 for c in value) and "\\" in text:
        try:
            return value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            pass
    return value


class Code:
    """The tokens of a file without comments and directives.

    `words` and `kinds` are the tokens' texts and kinds, `partner` the index of the other bracket of each bracket,
    `parent` for each token the bracket that it stands in, or -1.
    """

    def __init__(self, path, text):
        self.path = path
        tokens = [t for t in sources.cpp_tokens(text) if t.kind not in ("comment", "directive")]
        self.words = [t.text for t in tokens]
        self.kinds = ["string" if t.kind == "raw" else t.kind for t in tokens]
        self.lines = [t.line for t in tokens]
        self.partner, self.parent = {}, []
        opened = []
        for i, word in enumerate(self.words):
            is_sign = self.kinds[i] == "mark_of_code"
            if is_sign and word in ")]}" and opened:
                self.partner[opened[-1]] = i
                self.partner[i] = opened.pop()
            self.parent.append(opened[-1] if opened else -1)
            if is_sign and word in PARTNERS:
                opened.append(i)
        for i in opened:
            self.partner[i] = len(self.words)

    def at(self, i):
        return f"{self.path}:{self.lines[i]}"

    def word(self, i):
        return self.words[i] if 0 <= i < len(self.words) else ""

    def kind(self, i):
        return self.kinds[i] if 0 <= i < len(self.kinds) else ""

    def opens(self, i, brackets="([{"):
        return self.kind(i) == "mark_of_code" and self.words[i] in brackets and i in self.partner

    def split(self, begin, end, angles=False):
        """The ranges of tokens between commas that are in no bracket; `angles`: < and > are brackets."""
        ranges, start, i, depth = [], begin, begin, 0
        while i < end:
            if self.opens(i):
                i = self.partner[i]
            elif angles and self.words[i] in ("<", ">"):
                depth += 1 if self.words[i] == "<" else -1
            elif self.words[i] == "," and depth <= 0:
                ranges.append((start, i))
                start = i + 1
            i += 1
        return ranges + [(start, end)] if start < end else ranges

    def arguments(self, opening):
        return self.split(opening + 1, self.partner[opening])

    def literal(self, begin, end):
        """The value of adjacent string literals, or None if the range is anything else."""
        if begin >= end or any(kind != "string" for kind in self.kinds[begin:end]):
            return None
        return "".join(map(literal_value, self.words[begin:end]))


def load(root, folders):
    """The files of some folders below `root`."""
    names = [name for name in sources.list_files(root) if name.startswith(folders) and name.endswith(sources.CPP)]
    return [Code(name, sources.read(root / name)) for name in names]


KEYWORDS = {
    "if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype", "constexpr", "throw",
    "requires", "static_assert", "noexcept", "alignas", "new", "delete", "else", "do", "case", "operator", "defined"
}  # fmt: skip
BEHIND_PARAMETERS = {"const", "noexcept", "override", "final", "mutable", "try", "&", "&&"}
BEFORE_EXPRESSION = {"return", "throw", "else", "case", "new", "delete", "co_return", "not", "and", "or", "do"}


class Parameter:
    def __init__(self, name, type_words, default):
        self.name, self.type_words, self.default = name, type_words, default  # default: a range of tokens, or None


class Function:
    """A function or lambda with a body: tokens `begin` (its name, or the "[") to `end`, of which the body is from
    `body` on. `initialised` are the members that a constructor initialises, with ranges of tokens."""

    def __init__(self, code, name, owner, parameters, begin, body):
        self.code, self.name, self.owner, self.parameters = code, name, owner, parameters
        self.begin, self.body, self.end = begin, body, code.partner[body]
        self.is_lambda = code.words[begin] == "["
        self.is_local = False  # cannot be called from other files
        self.outer = None
        self.initialised = {}

    def takes(self, count):
        return sum(p.default is None for p in self.parameters) <= count <= len(self.parameters)


class Class:
    def __init__(self, code, name, bases, begin):
        self.code, self.name, self.bases, self.begin, self.end = code, name, bases, begin, code.partner[begin]

    def fields(self):
        """The names of its data members, in order, if it has no nested braces before them."""
        code = self.code
        inside = (k for k in range(self.begin + 1, self.end) if code.parent[k] == self.begin)
        return [code.words[k] for k in inside if code.kinds[k] == "name" and code.word(k + 1) in (";", ",", "=", "{")]


class Structure:
    """The functions and classes of a file, as far as they can be told without a compiler."""

    def __init__(self, code):
        self.code = code
        self.classes = [found for found in map(self._class_at, range(len(code.words))) if found]
        self.functions = []
        body = 0  # of the last one; the members that it initialises look like functions
        for i, word in enumerate(code.words):
            if word == "[" and code.opens(i):
                self._add_lambda(i)
            elif i > body and code.kinds[i] == "name" and word not in KEYWORDS and code.opens(i + 1, "("):
                body = self._add_function(i) or body
        self.functions.sort(key=lambda function: function.begin)
        self._around = [None] * len(code.words)
        for function in self.functions:
            function.outer = self._around[function.begin]
            function.is_local = function.is_lambda or self._is_local(function.begin)
            for k in range(function.begin + 1, function.end):
                self._around[k] = function

    def function_around(self, i):
        return self._around[i]

    def class_around(self, i):
        return max((c for c in self.classes if c.begin < i < c.end), key=lambda c: c.begin, default=None)

    def _class_at(self, i):
        code = self.code
        if code.words[i] not in ("class", "struct") or code.word(i - 1) in ("enum", "<", ","):
            return None
        k, name, bases = i + 1, None, []
        while code.kind(k) == "name" or code.word(k) in ("::", "["):
            if code.opens(k):
                k = code.partner[k]
            elif code.kinds[k] == "name" and code.words[k] != "final":
                name = code.words[k]
            k += 1
        if code.word(k) == ":":
            while code.word(k) not in ("{", ";", ""):
                bases += [code.words[k]] if code.kinds[k] == "name" else []
                k += 1
        return Class(code, name, bases, k) if name and code.word(k) == "{" and code.opens(k) else None

    def _parameters(self, opening):
        code, parameters = self.code, []
        for first, last in code.split(opening + 1, code.partner[opening], angles=True):
            equals = next((k for k in range(first, last) if code.words[k] == "="), last)
            names = [k for k in range(first, equals) if code.kinds[k] == "name"]
            is_named = len(names) > 1 and code.word(names[-1] - 1) != "::"
            name = code.words[names[-1]] if is_named else None
            parameters.append(Parameter(name, code.words[first:equals], (equals + 1, last) if equals < last else None))
        return parameters if parameters and parameters[0].type_words != ["void"] else []

    def _behind_parameters(self, k):
        """The "{" or ":" behind the parameters of a definition, or None."""
        code = self.code
        while code.word(k) in BEHIND_PARAMETERS or code.word(k) == "->":
            if code.words[k] == "->":
                k += 1
                while code.kind(k) == "name" or code.word(k) in ("::", "*", "&", "<", ">", ","):
                    k += 1
            else:
                k = code.partner[k + 1] + 1 if code.words[k] == "noexcept" and code.opens(k + 1, "(") else k + 1
        return k if code.word(k) in ("{", ":") else None

    def _initialised(self, k):
        """Members with the ranges of their values, and the "{" of the body, from the ":" of a constructor on."""
        code, found = self.code, {}
        while True:
            k += 1
            name = None
            while code.kind(k) == "name" or code.word(k) in ("::", "<", ">"):
                name = code.words[k] if code.kinds[k] == "name" else name
                k += 1
            if name is None or not code.opens(k, "({"):
                return found, None
            found[name] = (k + 1, code.partner[k])
            k = code.partner[k] + 1
            if code.word(k) != ",":
                return found, k if code.word(k) == "{" else None

    def _add_function(self, i):
        code, initialised = self.code, {}
        k = self._behind_parameters(code.partner[i + 1] + 1)
        if k is not None and code.words[k] == ":":
            initialised, k = self._initialised(k)
        if k is None or not code.opens(k):
            return None
        around = self.class_around(i)
        owner = code.word(i - 2) if code.word(i - 1) == "::" else around.name if around else None
        function = Function(code, code.words[i], owner, self._parameters(i + 1), i, k)
        function.initialised = initialised
        self.functions.append(function)
        return k

    def _add_lambda(self, i):
        code = self.code
        before = code.word(i - 1)
        if before in (")", "]", "[", "}") or code.kind(i - 1) in ("name", "string") and before not in BEFORE_EXPRESSION:
            return
        k, parameters = code.partner[i] + 1, []
        if code.opens(k, "("):
            parameters = self._parameters(k)
            k = code.partner[k] + 1
        k = self._behind_parameters(k)
        if k is not None and code.words[k] == "{" and code.opens(k):
            name = code.word(i - 2) if before == "=" else None
            self.functions.append(Function(code, name, None, parameters, i, k))

    def _is_local(self, i):
        """In an anonymous namespace, or static outside of classes."""
        code, brace = self.code, self.code.parent[i]
        while brace >= 0:
            if code.word(brace - 1) == "namespace":
                return True
            brace = code.parent[brace]
        start = i
        while start > 0 and code.words[start - 1] not in (";", "}", "{"):
            start -= 1
        return "static" in code.words[start:i] and self.class_around(i) is None
