#!/usr/bin/env python3
"""Writes the generated part of docs/errors.md: every error code that the source code reports.
It stands between `<!-- begin: docs/errors.py -->` and `<!-- end -->`.
Usage: errors.py [--check]; with --check nothing is written, and a difference is shown and exits 1.

How it works: each file is split into tokens, and each place that builds an `Error` is evaluated: string literals are
kept, and a value that is known only at run time becomes "…". An argument that is a parameter of the surrounding
function is replaced by what each of the function's callers passes, and so on outwards; a member is replaced by what
the constructors store in it. A code that this does not find ends the script with the place."""
import difflib
import itertools
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "docs/errors.md"
BEGIN, END = "<!-- begin: docs/errors.py -->\n", "<!-- end -->"
FOLDERS = ("app", "ui", "storage", "engine", "kernels")
MENTIONS = ("tests", "docs", "README.md")  # may name only codes that the source code reports
CODE = re.compile(r"PAL-(?:[A-Z]+-[A-Z]?[0-9]+|INTERNAL)\b")

# What each group of codes is about, in the order of the page.
GROUPS = {
    "OPTION": "Options and arguments of the command, and values in the configuration file.",
    "USE": "Sampling options: how the next token is drawn.",
    "POLICY": "The cache policy: its name, its parameters, and its state in a snapshot. "
              "[policies.md](policies.md) describes the policies.",
    "BUDGET": "Budget, chunk and question do not fit together, or the cache of a session is full.",
    "PIN": "Pins: passages that are protected from eviction.",
    "DOC": "Documents: finding, decoding and reading them.",
    "TEXT": "Token ids that the model does not know, and streams that are too long.",
    "MODEL": "Model files and tokenizer files. Most of these codes end with the rule in [validation.md](validation.md) "
             "that the file breaks: `PAL-MODEL-10` is rule G10, `PAL-MODEL-S4` is rule S4. 00, 17 and 20 are no rules: "
             "they are about finding a model, and about the device that it runs on.",
    "TEMPLATE": "The chat template of a model. The model remains usable: its turns are framed plainly, and a warning "
                "gives the reason.",
    "SESSION": "Named sessions: their names, their messages, and what can be done with them.",
    "SNAP": "Snapshots. The text of the session is safe: an older snapshot is restored, or the text is read again.",
    "DB": "The database that holds sessions and documents, and exported sessions.",
    "DISK": "Reading and writing files.",
    "MEM": "Memory of the machine.",
    "GPU": "The GPU, its driver and the GPU plugin.",
    "MAP": "Exporting the retained-token map.",
    "RUN": "The program as a whole.",
    "CACHE": "Checks inside the cache. Such an error is a bug.",
    "KERNEL": "Checks inside the backends. Such an error is a bug.",
    "INTERNAL": "Other checks. Such an error is a bug.",
}

# What happened, and what to do, where the program knows that only at run time.
SENTENCES = {
    "PAL-INTERNAL": "the message of an unexpected exception",
    "PAL-MODEL-13": "the warning that says why the tokenizer cannot be used",
    "PAL-OPTION-01": "what is wrong with the arguments",
    "PAL-RUN-02": "what the check of `palimpsest doctor` found",
    "PAL-RUN-70": "the message of an unexpected exception",
    "PAL-TEMPLATE-03": "what is undefined",
}
REMEDIES = {"PAL-RUN-02": "the remedy of the check"}
# Combinations of alternatives that cannot occur, though no condition in the code says so twice.
IMPOSSIBLE = {("PAL-SNAP-02", "start with or read the document again")}  # the two targets would be equal

HOLE = "…"  # what is known only at run time
MOST_STEPS = 8  # callers of callers
MANY_ALIKE = 4
MOST_SENTENCES = 4000  # of one place, as a guard against a product of alternatives

KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype", "constexpr", "throw",
            "requires", "static_assert", "noexcept", "alignas", "new", "delete", "else", "do", "case", "co_return",
            "operator", "defined", "not", "and", "or", "goto", "typename", "template", "using", "typedef"}
NO_TYPE = {"return", "throw", "else", "case", "new", "delete", "co_return", "goto", "and", "or", "not", "do", "in"}
# Calls whose value is their argument, and calls whose value is always shown as "…".
WRAPPERS = {"string", "string_view", "move", "forward", "path", "QString", "QStringLiteral", "QLatin1String", "tr"}
OPAQUE = {"printable", "to_string", "format_bytes", "visible", "text_of", "shape_text", "name", "text", "strerror",
          "config_path"}
SAME_TEXT = {"toStdString", "string", "c_str", "data", "str"}  # methods whose value is that of their object

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/|^[ \t]*\#(?:\\\n|//[^\n]*|[^\n])*)
      | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^(]*)\(.*?\)(?P=mark)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>::|->|<<|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|u([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
PARTNERS = {"(": ")", "[": "]", "{": "}"}


class Trouble(Exception):
    pass


def text_of_literal(literal):
    if literal.endswith('"') and re.match(r'(?:u8|[uUL])?R"', literal):
        return literal[literal.index("(") + 1:literal.rindex(")")]

    def plain(found):
        number = found[1] or found[2]
        if number:
            return chr(int(number, 16))
        return chr(int(found[3], 8)) if found[3] else ESCAPED.get(found[4], found[4])
    return ESCAPE.sub(plain, literal[literal.index('"') + 1:-1])


class Function:
    """A function or lambda that has a body. `begin` to `end` are its tokens from the parameters on."""

    def __init__(self, source, name, owner, params, begin, body, end):
        self.source, self.name, self.owner, self.params = source, name, owner, params
        self.begin, self.body, self.end = begin, body, end
        self.is_lambda = self.is_local = False
        self.initialisers = {}  # of a constructor: member -> (begin, end) of its arguments

    def takes(self, count):
        needed = sum(not has_default for _, _, has_default, _ in self.params)
        return needed <= count <= len(self.params) or any(name == "..." for name, *_ in self.params)

    def index_of(self, name):
        return next((i for i, param in enumerate(self.params) if param[0] == name), None)


class Class:
    def __init__(self, source, name, bases, begin, end):
        self.source, self.name, self.bases, self.begin, self.end = source, name, bases, begin, end


class Source:
    """The tokens of one file, with its functions and classes."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            self.text = file.read()
        self.kinds, self.words, self.lines = [], [], []
        line = 1
        for found in TOKEN.finditer(self.text):
            if found.lastgroup != "space":
                self.kinds.append("string" if found.lastgroup == "raw" else found.lastgroup)
                self.words.append(found.group())
                self.lines.append(line)
            line += found.group().count("\n")
        self.partner, self.parent = self._match()
        self.classes, self.functions = [], []
        self._find_classes()
        self._find_functions()

    def at(self, i):
        return "%s:%d" % (self.path, self.lines[min(i, len(self.lines) - 1)])

    def _match(self):
        partner, parent, open_at = {}, [], []
        for i, (kind, word) in enumerate(zip(self.kinds, self.words)):
            if kind == "sign" and word in ")]}" and open_at:
                partner[open_at[-1]] = i
                partner[i] = open_at.pop()
            parent.append(open_at[-1] if open_at else -1)
            if kind == "sign" and word in "([{":
                open_at.append(i)
        if open_at:
            raise Trouble("%s: a bracket is not closed" % self.at(open_at[-1]))
        return partner, parent

    def word(self, i):
        return self.words[i] if 0 <= i < len(self.words) else ""

    def kind(self, i):
        return self.kinds[i] if 0 <= i < len(self.kinds) else ""

    def split(self, begin, end, angles=False):
        """The ranges between top-level commas."""
        ranges, start, i, depth = [], begin, begin, 0
        while i < end:
            word = self.words[i] if self.kinds[i] == "sign" else ""
            if word in PARTNERS:
                i = self.partner[i]
            elif angles and word in ("<", ">"):
                depth += 1 if word == "<" else -1
            elif word == "," and depth <= 0:
                ranges.append((start, i))
                start = i + 1
            i += 1
        return ranges + [(start, end)] if start < end else ranges

    def skip_angles(self, i):
        """The token behind <...>, or i."""
        if self.word(i) != "<":
            return i
        depth, k = 0, i
        while k < len(self.words) and self.words[k] not in (";", "{", "}", "&&", "||"):
            if self.words[k] in PARTNERS:
                k = self.partner[k]
            depth += (self.words[k] == "<") - (self.words[k] == ">")
            k += 1
            if depth == 0:
                return k
        return i

    def _find_classes(self):
        for i, word in enumerate(self.words):
            if word not in ("class", "struct") or self.kinds[i] != "name" or self.word(i - 1) == "enum":
                continue
            k, name = i + 1, None
            while self.kind(k) == "name" or self.word(k) == "::" or self.word(k) == "[":
                if self.word(k) == "[":
                    k = self.partner[k]
                elif self.kind(k) == "name" and self.word(k) not in ("final", "alignas"):
                    name = self.word(k)
                k += 1
            bases = []
            if self.word(k) == ":":
                while k < len(self.words) and self.words[k] not in ("{", ";"):
                    bases += [self.words[k]] if self.kinds[k] == "name" else []
                    k += 1
            if name and self.word(k) == "{":
                self.classes.append(Class(self, name, bases, k, self.partner[k]))

    def class_at(self, i):
        around = [c for c in self.classes if c.begin < i < c.end]
        return max(around, key=lambda c: c.begin).name if around else None

    def _params(self, begin, end):
        """(name, words of the type, whether there is a default, range of the default) of each parameter."""
        params = []
        for first, last in self.split(begin, end, angles=True):
            equals = next((k for k in range(first, last) if self.words[k] == "="), last)
            names = [k for k in range(first, equals) if self.kinds[k] == "name"]
            if "..." in self.words[first:equals]:
                params.append(("...", [], True, None))
            elif names and not (len(names) == 1 and self.words[names[0]] == "void"):
                only_type = len(names) == 1 or self.word(names[-1] - 1) == "::"
                name = None if only_type else self.words[names[-1]]
                params.append((name, self.words[first:equals], equals < last, (equals + 1, last)))
        return params

    def _behind_params(self, k):
        """The "{" or ":" behind the parameters of a definition; None for anything else."""
        while k < len(self.words):
            word = self.words[k]
            if word in ("const", "noexcept", "override", "final", "mutable", "try", "&", "&&"):
                k += 1
                if word == "noexcept" and self.word(k) == "(":
                    k = self.partner[k] + 1
            elif word == "[" and self.word(k + 1) == "[":
                k = self.partner[k] + 1
            elif word == "->":
                k += 1
                while self.kind(k) == "name" or self.word(k) in ("::", "*", "&", "<", ">", ","):
                    k = self.skip_angles(k) if self.word(k) == "<" else k + 1
            else:
                return k if word in ("{", ":") else None
        return None

    def _initialisers(self, k):
        """Members with the ranges of their values, and the "{" of the body, from the ":" of a constructor on."""
        found = {}
        while True:
            k += 1
            name = None
            while self.kind(k) == "name" or self.word(k) == "::":
                name = self.word(k)
                k = self.skip_angles(k + 1)
            if name is None or self.word(k) not in ("(", "{"):
                return found, None
            found[name] = (k + 1, self.partner[k])
            k = self.partner[k] + 1
            if self.word(k) != ",":
                return found, k if self.word(k) == "{" else None

    def _find_functions(self):
        body = 0  # the last one; members that a constructor initialises before it look like functions
        for i, word in enumerate(self.words):
            if self.kinds[i] == "name" and self.word(i + 1) == "(" and word not in KEYWORDS:
                if i > body:
                    body = self._add_function(i) or body
            elif word == "[" and self.kinds[i] == "sign":
                self._add_lambda(i)
        for function in self.functions:
            outside = [f for f in self.functions if f is not function and f.body < function.begin < f.end]
            function.outer = max(outside, key=lambda f: f.body) if outside else None
            function.is_local = function.is_lambda or self._is_local(function.begin)

    def _is_local(self, i):
        """In an anonymous namespace, or static at namespace scope."""
        brace = self.parent[i]
        while brace >= 0:
            if self.words[brace] == "{" and self.word(brace - 1) == "namespace":
                return True
            brace = self.parent[brace]
        start = i
        while start > 0 and self.words[start - 1] not in (";", "}", "{"):
            start -= 1
        return "static" in self.words[start:i] and self.class_at(i) is None

    def _add_function(self, i):
        close = self.partner[i + 1]
        k = self._behind_params(close + 1)
        if k is None:
            return None
        members = {}
        if self.words[k] == ":":
            members, k = self._initialisers(k)
            if k is None:
                return None
        owner = self.word(i - 2) if self.word(i - 1) == "::" else self.class_at(i)
        function = Function(self, self.words[i], owner, self._params(i + 2, close), i, k, self.partner[k])
        function.initialisers = members
        self.functions.append(function)
        return k

    def _add_lambda(self, i):
        if self.kind(i - 1) in ("name", "string") and self.word(i - 1) not in ("return", "throw", "case") \
                or self.word(i - 1) in (")", "]", "[", "}") or self.word(i + 1) == "[":
            return
        k = self.skip_angles(self.partner[i] + 1)
        params = []
        if self.word(k) == "(":
            params = self._params(k + 1, self.partner[k])
            k = self.partner[k] + 1
        k = self._behind_params(k)
        if k is None or self.words[k] != "{":
            return
        named = self.word(i - 1) == "=" and self.kind(i - 2) == "name"
        function = Function(self, self.word(i - 2) if named else None, None, params, i, k, self.partner[k])
        function.is_lambda = True
        self.functions.append(function)

    def function_at(self, i):
        around = [f for f in self.functions if f.begin < i < f.end]
        return max(around, key=lambda f: f.begin) if around else None


# A value is a list of alternatives (conditions, parts). The conditions say which side of each "?" was taken, so that
# kind, sentence and remedy of one place are combined as they occur. A part is a literal ("text", text, place), what is
# not known (HOLE,), or a reference: ("param", function, index, field) or ("member", class name, name, field, source).
def constant(text, place=None):
    return [({}, (("text", text, place),))]


UNKNOWN = [({}, ((HOLE,),))]


def agree(a, b):
    return all(b.get(key, value) == value for key, value in a.items())


def concat(values):
    result = [({}, ())]
    for value in values:
        result = [({**c, **d}, p + q) for c, p in result for d, q in value if agree(c, d)]
    return unique(result)


def unique(value):
    seen, result = set(), []
    for conditions, parts in value:
        key = (tuple(sorted(conditions.items(), key=str)), tuple(shown_part(p) for p in parts))
        if key not in seen:
            seen.add(key)
            result.append((conditions, parts))
    return result


def shown_part(part):
    return part[:2] if part[0] == "text" else (part[0],) + tuple(str(id(p)) if isinstance(p, Function) else str(p)
                                                                   for p in part[1:4])


def filled(part):
    """A text of Qt after arg(): "%1" becomes "…"."""
    return ("text", re.sub(r"%[0-9]", HOLE, part[1]), part[2]) if part[0] == "text" else part


def is_reference(part):
    return part[0] in ("param", "member")


def has_text(value):
    return any(part[0] == "text" and re.search(r"\w", part[1]) for _, parts in value for part in parts)


def literal_length(parts):
    return sum(len(part[1]) for part in parts if part[0] == "text")


def shown(parts):
    text = "".join(part[1] if part[0] == "text" else HOLE for part in parts)
    return re.sub(HOLE + r"(?:[\s.]*" + HOLE + ")+", HOLE, text)


class Program:
    def __init__(self):
        self.sources = [Source(path) for path in source_files()]
        self.functions, self.words = {}, {}
        self.classes = {}
        for source in self.sources:
            for function in source.functions:
                self.functions.setdefault(function.name, []).append(function)
            for found in source.classes:
                self.classes.setdefault(found.name, []).append(found)
            for i, word in enumerate(source.words):
                if source.kinds[i] == "name":
                    self.words.setdefault(word, []).append((source, i))
        self.callers_of = {}
        self.inlining = []
        self.stored = {}
        self.in_lists = set()  # (path, token) of lists of rules of which at least one field is reported

    # --- names ---------------------------------------------------------------------------------------------------

    def class_named(self, name, source):
        """The class that `name` means in a file: of this file, of this folder, or the only one."""
        found = self.classes.get(name, [])
        folder = os.path.dirname(source.path)
        for candidates in ([c for c in found if c.source is source],
                           [c for c in found if os.path.dirname(c.source.path) == folder], found):
            if len(candidates) == 1:
                return candidates[0]
        return None

    def derives(self, name, base, source):
        if name == base:
            return True
        found = self.class_named(name, source)
        return found is not None and any(self.derives(b, base, source) for b in found.bases if b != name)

    def declared_type(self, source, i, name):
        """The words of the type that a variable, parameter or member has at token i; None if it is not found."""
        function = source.function_at(i)
        while function:
            for k in range(i, function.body, -1):
                if source.words[k] == name and self._is_declaration(source, k):
                    return self._type_before(source, k)
            index = function.index_of(name)
            if index is not None:
                return function.params[index][1]
            if not function.outer and function.owner:
                owner = self.class_named(function.owner, source)
                return self._member_type(owner, name) if owner else None
            function = function.outer
        return None

    def member_type(self, owner, source, name):
        found = self.class_named(owner, source)
        return (self._member_type(found, name) if found else None) or []

    def _member_type(self, owner, name):
        source = owner.source
        for k in range(owner.begin, owner.end):
            if source.words[k] == name and source.parent[k] == owner.begin and \
                    source.word(k + 1) in (";", "=", "{", ",") and self._is_declaration(source, k):
                return self._type_before(source, k)
        for base in owner.bases:
            found = self.class_named(base, source)
            if found and found is not owner and self._member_type(found, name):
                return self._member_type(found, name)
        return None

    @staticmethod
    def _type_before(source, k):
        start = k
        while start > 0 and source.words[start - 1] not in (";", "{", "}", "(", ":"):
            start -= 1
        return source.words[start:k]

    @staticmethod
    def _is_declaration(source, k):
        before, behind = source.word(k - 1), source.word(k + 1)
        if source.kind(k) != "name" or behind not in ("=", "(", "{", ";", ",", "[", ":", ")"):
            return False
        if before in ("&", "*", ">", "&&"):
            start = k - 1
            while source.word(start) in ("&", "*", ">", "&&", "const"):
                start -= 1
            return source.kind(start) == "name" and source.word(start) not in NO_TYPE and \
                (before == ">" or source.word(start - 1) in (";", "{", "}", "(", "::", "const", ",", ")", "static"))
        if before == ",":  # a further declarator of one declaration
            return behind == "=" and source.word(source.parent[k]) == "{"
        return source.kind(k - 1) == "name" and before not in NO_TYPE

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, source, begin, end):
        """The value of an expression."""
        words, kinds = source.words, source.kinds
        while words[begin:begin + 1] == ["("] and source.partner[begin] == end - 1:
            begin, end = begin + 1, end - 1
        if begin >= end:
            return constant("")
        pluses, question, other, i = [], None, False, begin
        while i < end:
            if kinds[i] == "sign":
                if words[i] in PARTNERS:
                    i = source.partner[i]
                elif words[i] == "?" and question is None:
                    question = i
                elif words[i] == "+" and i > begin:
                    pluses.append(i)
                elif words[i] in ("==", "!=", "&&", "||", "-", "/", "%", "<<", "=", "+=", "|", "^"):
                    other = True
            i += 1
        if question is not None:
            return self._choice(source, begin, question, end)
        if other:
            return UNKNOWN
        if pluses:
            cuts = [begin - 1] + pluses + [end]
            return concat(self.value(source, a + 1, b) for a, b in itertools.pairwise(cuts))
        return self._primary(source, begin, end)

    def _choice(self, source, begin, question, end):
        depth, i = 0, question + 1
        while i < end:
            if source.kinds[i] == "sign":
                if source.words[i] in PARTNERS:
                    i = source.partner[i]
                elif source.words[i] == "?":
                    depth += 1
                elif source.words[i] == ":":
                    if depth == 0:
                        break
                    depth -= 1
            i += 1
        function = source.function_at(question)
        key = (function.begin if function else 0, source.path, " ".join(source.words[begin:question]))
        sides = ((True, self.value(source, question + 1, i)), (False, self.value(source, i + 1, end)))
        return unique([({**conditions, key: side}, parts) for side, value in sides for conditions, parts in value
                       if conditions.get(key, side) == side])

    def _primary(self, source, begin, end):
        words, kinds = source.words, source.kinds
        if all(kinds[i] == "string" for i in range(begin, end)):
            return constant("".join(text_of_literal(words[i]) for i in range(begin, end)), (source, begin))
        if words[begin] == "*" or words[begin] == "&":
            return UNKNOWN
        last = end - 1
        if words[last] in (")", "}") and source.partner[last] > begin:  # a call, perhaps of a method
            opening = source.partner[last]
            if kinds[opening - 1] == "name":
                return self._call(source, begin, opening - 1, opening, last)
            return UNKNOWN
        if kinds[last] == "name":
            if last == begin:
                return self._name(source, last)
            if words[last - 1] == "::":
                if words[begin] == "ErrorKind":
                    return constant(words[last])
                return self._name(source, last, qualifier=words[last - 2])
            if words[last - 1] in (".", "->"):
                return self._field(source, begin, last)
        return UNKNOWN

    def _call(self, source, begin, name_at, opening, close):
        words = source.words
        name, arguments = words[name_at], source.split(opening + 1, close)
        before = words[name_at - 1] if name_at > begin else ""
        if before in (".", "->"):
            if name in SAME_TEXT and not arguments:
                return self.value(source, begin, name_at - 1)
            if name == "append" and len(arguments) == 1:
                return concat([self.value(source, begin, name_at - 1), self.value(source, *arguments[0])])
            if name == "arg":
                return [(conditions, tuple(filled(part) for part in parts))
                        for conditions, parts in self.value(source, begin, name_at - 1)]
            if name == "code" and not arguments:
                return [({}, (("passed on",),))]
            return self._inlined(source, name_at, arguments)
        if name in WRAPPERS and len(arguments) == 1:
            return self.value(source, *arguments[0])
        if name in OPAQUE:
            return UNKNOWN
        return self._inlined(source, name_at, arguments)

    def _inlined(self, source, name_at, arguments):
        """What a small function returns, if that has text in it."""
        name = source.words[name_at]
        if name in OPAQUE or len(self.inlining) > 3:
            return UNKNOWN
        found = [f for f in self.functions.get(name, []) if f.takes(len(arguments))
                 and self._means(f, source, name_at) is True and f not in self.inlining]
        if len(found) != 1:
            return UNKNOWN
        function = found[0]
        returned = [k for k in range(function.body, function.end) if function.source.words[k] == "return"
                    and function.source.function_at(k) is function]
        if not 1 <= len(returned) <= 5:
            return UNKNOWN
        self.inlining.append(function)
        value = []
        for k in returned:
            end = next(e for e in range(k, function.end) if function.source.words[e] == ";"
                       and function.source.parent[e] == function.source.parent[k])
            value += self.value(function.source, k + 1, end)
        self.inlining.pop()
        if len(value) > 1 and not has_text(value):
            return UNKNOWN
        return self._with_arguments(value, function, source, arguments)

    def _with_arguments(self, value, function, source, arguments):
        result = []
        for conditions, parts in value:
            substituted = [self.argument(source, arguments, function, part[2], part[3])
                           if part[0] == "param" and part[1] is function
                           else UNKNOWN if part[0] == "param" else [({}, (part,))] for part in parts]
            result += [({**conditions, **c}, p) for c, p in concat(substituted) if agree(conditions, c)]
        return unique(result)

    def _name(self, source, i, qualifier=None):
        name = source.words[i]
        function = source.function_at(i)
        while function and qualifier is None:
            local = self._local(source, function, i, name)
            if local is not None:
                return local
            index = function.index_of(name)
            if index is not None:
                return [({}, (("param", function, index, None),))]
            if not function.outer and function.owner and self.stored_values(function.owner, source, name):
                return [({}, (("member", function.owner, name, None, source),))]
            function = function.outer
        return self._constant(source, name, qualifier)

    def stored_values(self, owner, source, name):
        """(source, begin, end) of each expression that a constructor or another method stores in a member."""
        key = owner, source.path, name
        if key not in self.stored:
            found = self.class_named(owner, source)
            own = {found.source, source} if found else set()
            values = [(f.source, *f.initialisers[name]) for f in self.constructors(owner, source)
                      if name in f.initialisers]
            for where, k in self.words.get(name, []) if name.endswith("_") else []:
                if where in own and where.word(k + 1) == "=" and where.word(k - 1) in (";", "{", "}", ")") \
                        and self._owner_at(where, k) == owner:
                    values.append((where, k + 2, self._statement_end(where, k + 2)))
            self.stored[key] = values
        return self.stored[key]

    def constructors(self, owner, source):
        found = self.class_named(owner, source)
        return [f for f in self.functions.get(owner, []) if f.owner == owner and found
                and (f.source is found.source or os.path.dirname(f.source.path) == os.path.dirname(found.source.path))]

    def _local(self, source, function, i, name):
        """The values that a local variable may have at token i; None if there is no such variable."""
        declared = None
        for k in range(i - 1, function.body, -1):
            if source.words[k] != name or source.kinds[k] != "name":
                continue
            if source.word(source.parent[k]) == "[" and source.word(source.parent[k] - 1) in ("auto", "&"):
                return UNKNOWN  # a structured binding
            if not self._is_declaration(source, k):
                continue
            block = source.parent[k]
            if source.word(block) == "(":  # of a loop or a condition
                block = source.parent[block]
            if block < function.body or source.partner[block] > i:
                declared = k
                break
        if declared is None:
            return None
        behind, first = source.words[declared + 1], source.word(source.parent[declared])
        values = []
        if behind == "=":
            values += self.value(source, declared + 2, self._statement_end(source, declared + 2))
        elif behind in ("(", "{") and "Error" not in source.words[declared - 1]:
            values += self.value(source, declared + 2, source.partner[declared + 1])
        elif first == "(" or behind in (":", ")"):
            return UNKNOWN
        changed = False
        for k in range(declared + 2, i):
            if source.words[k] == name and source.word(k - 1) in (";", "{", "}", ")", "else"):
                if source.word(k + 1) == "=":
                    values += self.value(source, k + 2, self._statement_end(source, k + 2))
                changed = changed or source.word(k + 1) == "+="
        values = [v for v in values if v[1] and v[1] != (("text", "", None),)] or values
        return concat([values or UNKNOWN, UNKNOWN]) if changed else values or UNKNOWN

    @staticmethod
    def _statement_end(source, k):
        while source.words[k] not in (";", ","):
            if source.words[k] in PARTNERS:
                k = source.partner[k]
            elif source.words[k] in (")", "}"):
                return k
            k += 1
        return k

    def _constant(self, source, name, qualifier):
        """A named string constant outside of functions."""
        found = []
        for where, k in self.words.get(name, []):
            if where.word(k + 1) in ("=", "[") and where.function_at(k) is None:
                k = k + 1 if where.words[k + 1] == "=" else where.partner[k + 1] + 1
                if where.word(k) == "=" and where.kind(k + 1) == "string" and \
                        (qualifier is None or qualifier not in self.classes or where.class_at(k) == qualifier):
                    found.append((where, k + 1))
        own = [f for f in found if f[0] is source]
        header = [f for f in found if f[0].path.rsplit(".", 1)[0] == source.path.rsplit(".", 1)[0]]
        for candidates in (own, header, found):
            if len(candidates) == 1:
                where, k = candidates[0]
                return self.value(where, k, self._statement_end(where, k))
        return UNKNOWN

    def _field(self, source, begin, last):
        """`rules.text`, where rules is a parameter or member that is a list of constants."""
        if last - 1 - begin == 1 and source.kinds[begin] == "name":
            base = self._name(source, begin)
            if len(base) == 1 and len(base[0][1]) == 1 and is_reference(base[0][1][0]):
                part = base[0][1][0]
                return [({}, (part[:3] + (source.words[last],) + part[4:],))]
            returned = self._returned_field(source, begin, source.words[last])
            if returned:
                return returned
        return [({}, (("field", source.words[last]),))]

    def _returned_field(self, source, i, field):
        """`why.reason`, where why is a local variable with the struct that a function returns as one of its lists."""
        types = self.declared_type(source, i, source.words[i]) or []
        declared = next((k for k in range(i - 1, 0, -1) if source.words[k] == source.words[i]
                         and source.word(k + 1) == "=" and source.word(k + 3) == "("), None)
        fields = next((self._struct_fields(c) for word in types for c in self.classes.get(word, [])), [])
        if declared is None or field not in fields:
            return None
        found = [f for f in self.functions.get(source.words[declared + 2], []) if not f.is_lambda]
        if len(found) != 1:
            return None
        where, values = found[0].source, []
        for k in range(found[0].body, found[0].end):
            if where.words[k] == "return" and where.word(k + 1) == "{":
                elements = where.split(k + 2, where.partner[k + 1])
                if len(elements) == len(fields):
                    chosen = {("returned", source.path, i and source.words[i]): k}
                    values += [({**conditions, **chosen}, parts) for conditions, parts
                               in self.value(where, *elements[fields.index(field)])]
        return values

    def argument(self, source, arguments, function, index, field):
        """What a call passes for a parameter."""
        if index >= len(arguments):
            default = function.params[index][3]
            return self.value(function.source, *default) if function.params[index][2] and not field else UNKNOWN
        begin, end = arguments[index]
        return self.value(source, begin, end) if field is None else \
            self.field_of(source, begin, end, field, function.params[index][1])

    def field_of(self, source, begin, end, field, type_words):
        if source.words[end - 1] == "}":
            opening = source.partner[end - 1]
            names = next((self._struct_fields(c) for word in type_words for c in self.classes.get(word, [])
                          if field in self._struct_fields(c)), None)
            if names:
                elements = source.split(opening + 1, end - 1)
                index = names.index(field)
                self.in_lists.update((source.path, k) for k in range(opening, end))
                return self.value(source, *elements[index]) if index < len(elements) else UNKNOWN
        value = self.value(source, begin, end)
        if len(value) == 1 and len(value[0][1]) == 1 and is_reference(value[0][1][0]):
            part = value[0][1][0]
            return [({}, (part[:3] + (field,) + part[4:],))]
        return UNKNOWN

    @staticmethod
    def _struct_fields(found):
        source = found.source
        return [source.words[k] for k in range(found.begin + 1, found.end) if source.parent[k] == found.begin
                and source.kinds[k] == "name" and source.word(k + 1) in (";", ",", "=")]

    # --- callers -------------------------------------------------------------------------------------------------

    def callers(self, function):
        """(source, token, ranges of the arguments) of each call of a function."""
        if function not in self.callers_of:
            self.callers_of[function] = self._find_constructions(function) if function.name == function.owner \
                else self._find_calls(function)
        return self.callers_of[function]

    def _find_calls(self, function):
        calls = []
        for source, i in self.words.get(function.name, []) if function.name else []:
            opening = source.skip_angles(i + 1)
            if source.word(opening) != "(" or source.function_at(i) is None:
                continue
            arguments = source.split(opening + 1, source.partner[opening])
            if any(f.source is source and f.begin == i for f in self.functions[function.name]):
                continue  # its definition
            if not function.takes(len(arguments)):
                continue
            meant = self._means(function, source, i)
            if meant is None:
                raise Trouble("%s: cannot see whether this calls %s of %s" %
                              (source.at(i), function.name, function.source.path))
            if meant:
                calls.append((source, i, arguments))
        return calls

    def _means(self, function, source, i):
        """Whether a call at token i is one of `function`; None if that cannot be seen."""
        before = source.word(i - 1)
        if function.is_lambda:
            outer = function.outer
            return before not in (".", "->", "::") and source is function.source and outer is not None \
                and outer.begin < i < outer.end
        if source.kind(i - 1) == "name" and before not in NO_TYPE or before in ("&", "*", ">") and \
                source.kind(i - 2) == "name" and source.word(i - 3) in (";", "{", "}", "const", "("):
            return False  # a variable of this name
        if any(f.name == function.name and f.is_lambda and f is not function and self._means(f, source, i)
               for f in source.functions if f.name == function.name):
            return False
        if self._is_method(function):
            return self._means_method(function, source, i, before)
        if before in (".", "->"):
            return False
        if function.is_local and source is not function.source:
            return False
        if before == "::":
            return source.word(i - 2) not in self.classes
        own = self._method_around(function, source, i)
        others = [f for f in self.functions[function.name] if not self._is_method(f) and not f.is_lambda
                  and f.source is source and f is not function]
        return not own and (source is function.source or not others)

    def _is_method(self, function):
        return function.owner is not None and function.owner in self.classes

    def _owner_at(self, source, i):
        around = source.function_at(i)
        while around and around.outer:
            around = around.outer
        return around.owner if around and around.owner in self.classes else None

    def _method_around(self, function, source, i):
        """Whether the class around token i has a method of this name, which hides a free function."""
        owner = self._owner_at(source, i)
        return owner is not None and any(f.owner == owner and (f.source is source or not source.path.endswith(".h"))
                                         for f in self.functions[function.name])

    def _means_method(self, function, source, i, before):
        if before == "::":
            return source.word(i - 2) == function.owner
        if before not in (".", "->"):
            owner = self._owner_at(source, i)
            return owner is not None and self._same_class(function, owner, source)
        if source.word(i - 2) == ")":
            opening = source.partner[i - 2]
            name = source.word(opening - 1)
            if name == function.owner:
                return True
            return False if name in self.classes else self._only_method(function, source)
        if source.kind(i - 2) != "name":
            return self._only_method(function, source)
        if source.word(i - 2) == "this":
            return self._same_class(function, self._owner_at(source, i) or "", source)
        if source.word(i - 3) in (".", "->"):
            return self._only_method(function, source)
        types = self.declared_type(source, i - 2, source.word(i - 2))
        known = [word for word in types or [] if word in self.classes]
        if not known:
            return False if types and "auto" not in types else self._only_method(function, source)
        return any(self._same_class(function, word, source) or self.derives(function.owner, word, source)
                   for word in known)

    def _same_class(self, function, name, source):
        if name != function.owner:
            return False
        found, own = self.class_named(name, source), self.class_named(name, function.source)
        return found is None or own is None or found is own

    def _only_method(self, function, source):
        """For a receiver of unknown type: yes if no other class has such a method; not seen within one folder."""
        if all(f.owner == function.owner for f in self.functions[function.name] if not f.is_lambda):
            return True
        return None if os.path.dirname(source.path) == os.path.dirname(function.source.path) else False

    def _find_constructions(self, function):
        owner = function.owner
        calls = []
        for source, i in self.words.get(owner, []):
            if source.function_at(i) is None or self.class_named(owner, source) is not \
                    self.class_named(owner, function.source):
                continue
            behind = source.word(i + 1)
            if behind == ">" and source.word(i - 1) == "<" and source.word(i - 2) in ("make_unique", "make_shared"):
                opening = i + 2
            elif behind in ("(", "{"):
                opening = i + 1
            elif source.kind(i + 1) == "name" and source.word(i + 2) in ("(", "{"):
                opening = i + 2
            else:
                continue
            if not any(f.begin == i for f in source.functions):
                calls.append((source, i, opening))
        for outer in itertools.chain(*self.functions.values()):
            for member, (begin, _) in outer.initialisers.items():
                declared = self.class_named(outer.owner, outer.source) if outer.owner else None
                types = self._member_type(declared, member) if declared else None
                if types and owner in types and "&" not in types and "*" not in types and "<" not in types:
                    calls.append((outer.source, begin - 1, begin - 1))
        with_arguments = [(source, i, source.split(opening + 1, source.partner[opening]))
                          for source, i, opening in calls]
        return [call for call in with_arguments if function.takes(len(call[2]))]


# --- sites ---------------------------------------------------------------------------------------------------------

FIELDS = ("kind", "code", "subject", "what", "remedy")


class Report:
    """One error as it may be reported: FIELDS as texts."""

    def __init__(self, source, at, fields):
        self.source, self.at = source, at
        self.kind, self.code, self.subject, self.what, self.remedy = fields


class Finder:
    def __init__(self, program):
        self.program = program
        self.reports = []
        self.used = set()  # (path, token) of literals that are codes, or parts of codes
        self.window_remedies = {}

    def run(self):
        for source in self.program.sources:
            for i, word in enumerate(source.words):
                if source.kinds[i] == "name" and word == "Error":
                    self._constructor(source, i)
                elif word == "{" and source.kinds[i] == "sign":
                    self._braces(source, i)
        self._plugin_problems()
        self._check_used()
        for code, remedy in IMPOSSIBLE:
            rest = [r for r in self.reports if (r.code, r.remedy) != (code, remedy)]
            if len(rest) == len(self.reports):
                raise Trouble("docs/errors.py: IMPOSSIBLE names a remedy of %s that is not there any more" % code)
            self.reports = rest

    def _constructor(self, source, i):
        k = i + 1 if source.word(i + 1) in ("(", "{") else i + 2 if source.kind(i + 1) == "name" else None
        if k is None or source.word(k) not in ("(", "{") or source.function_at(i) is None:
            return
        if source.function_at(i).name == "Error":
            return  # its own constructor
        arguments = source.split(k + 1, source.partner[k])
        if len(arguments) in (5, 6):
            self._add(source, i, [self.program.value(source, *a) for a in arguments[:5]])
        elif len(arguments) > 1:
            raise Trouble("%s: an Error with %d arguments" % (source.at(i), len(arguments)))

    def _braces(self, source, i):
        elements = source.split(i + 1, source.partner[i])
        if not elements or source.kinds[elements[0][0]] == "sign":
            return
        first = elements[0]
        if source.words[first[0]] == "ErrorKind" and len(elements) in (5, 6):
            if source.word(i - 1) != "Error" and not (source.kind(i - 1) == "name" and source.word(i - 2) == "Error"):
                self._add(source, i, [self.program.value(source, *a) for a in elements[:5]])
        elif len(elements) == 2 and first[1] - first[0] <= 4 and CODE.search(" ".join(source.words[first[0]:first[1]])):
            code, text = (self.program.value(source, *e) for e in elements)
            if source.path == "ui/engine/failure.cpp" and source.kinds[first[0]] == "string":
                self._use(code[0][1])
                self.window_remedies[shown(code[0][1])] = shown(text[0][1])
            else:  # a Failure of the window
                self._add(source, i, [constant(""), code, constant(""), text, constant("")])

    def _add(self, source, at, values):
        """Appends the reports of one place, for all callers of the functions around it."""
        queue = [(source, at, fields, 0) for fields in self._combined(values)]
        done, seen = 0, set()
        while queue:
            where, place, fields, steps = queue.pop()
            key = (where.path, place, tuple(tuple(map(shown_part, parts)) for parts in fields))
            if not any(is_reference(part) for part in fields[1]):
                self._use(fields[1])
            if key in seen:
                continue
            seen.add(key)
            reference = self._next_reference(fields)
            if reference is None:
                self._finish(where, place, fields, source.at(at))
                done += 1
                if done > MOST_SENTENCES:
                    raise Trouble("%s: this place has too many sentences" % source.at(at))
                continue
            if steps == MOST_STEPS:
                queue.append((where, place, tuple(self._without_references(parts) for parts in fields), steps))
                continue
            for new_source, new_place, new_fields in self._substituted(fields, reference):
                if literal_length(new_fields[3]) > literal_length(fields[3]):  # this caller says what happened
                    queue.append((new_source, new_place, new_fields, steps + 1))
                else:
                    queue.append((where, place, new_fields, steps + 1))

    @staticmethod
    def _combined(values):
        result = [({}, ())]
        for value in values:
            result = [({**c, **d}, f + (parts,)) for c, f in result for d, parts in value if agree(c, d)]
        return [fields for _, fields in result]

    @staticmethod
    def _next_reference(fields):
        """The first reference to resolve. Those of the subject are resolved together with others, or never."""
        for k in (1, 0, 3, 4):
            for part in fields[k]:
                if is_reference(part):
                    return part
        return None

    @staticmethod
    def _without_references(parts):
        return tuple((HOLE,) if is_reference(part) else part for part in parts)

    def _substituted(self, fields, reference):
        """The fields with all references to one function's parameters, or one member, replaced."""
        options = []
        if reference[0] == "member":
            _, owner, name, field, source = reference
            for where, begin, end in self.program.stored_values(owner, source, name):
                if field is None:
                    value = self.program.value(where, begin, end)
                else:
                    types = self.program.member_type(owner, source, name)
                    value = self.program.field_of(where, begin, end, field, types)
                options += [(where, begin, new) for new in self._replaced(
                    fields, lambda part, value=value: value if part[:4] == reference[:4] else None)]
            return options
        function = reference[1]
        calls = self.program.callers(function)
        for source, place, arguments in calls:
            def passed(part, source=source, arguments=arguments):
                if part[0] == "param" and part[1] is function:
                    return self.program.argument(source, arguments, function, part[2], part[3])
                return None
            options += [(source, place, new) for new in self._replaced(fields, passed)]
        if not calls:  # a callback, or a function that only tests call
            options += [(function.source, function.begin, new) for new in self._replaced(
                fields, lambda part: UNKNOWN if part[0] == "param" and part[1] is function else None)]
        return options

    def _replaced(self, fields, replacement):
        values = []
        for parts in fields:
            values.append(concat([replacement(part) or [({}, (part,))] for part in parts]))
        return self._combined(values)

    def _use(self, parts):
        for part in parts:
            if part[0] == "text" and part[2]:
                self.used.add((part[2][0].path, part[2][1]))

    def _finish(self, source, at, fields, origin):
        code = fields[1]
        if any(part[0] == "passed on" for part in code) or code == (("field", "code"),):
            return  # the code of another error
        self._use(code)
        texts = [shown(parts) for parts in fields]
        if not CODE.fullmatch(texts[1]):
            raise Trouble("%s: cannot see the code that %s has from here (%s)" % (source.at(at), origin, texts[1]))
        if HOLE in texts[0]:
            raise Trouble("%s: cannot see the kind that %s has from here (%s)" % (source.at(at), origin, texts[1]))
        self.reports.append(Report(source, at, texts))

    # --- the GPU plugin, which cannot throw: it fills structs with code, problem and remedy, and open_backend()
    # --- makes an Error of them

    def _plugin_problems(self):
        kind = self._plugin_kind()
        pairs = self._survey_problems()
        for source in self.program.sources:
            for i, word in enumerate(source.words):
                if word == "{" and source.kinds[i] == "sign" and source.function_at(i):
                    elements = source.split(i + 1, source.partner[i])
                    if len(elements) == 3 and source.word(i - 1) in ("return", "="):
                        values = [self.program.value(source, *e) for e in elements]
                        self._plugin_problem(source, i, values, kind, pairs)
            for function in source.functions:
                if function.name == "refuse" and function.params and "CudaOpening" in function.params[0][1]:
                    for where, place, arguments in self.program.callers(function):
                        values = [self.program.value(where, *a) for a in arguments[1:]]
                        self._plugin_problem(where, place, values, kind, pairs)

    def _plugin_problem(self, source, at, values, kind, pairs):
        (_, code), = values[0][:1]
        if not CODE.fullmatch(shown(code)):
            return
        self._use(code)
        if not has_text(values[1]) and values[1][0][1] != (("field", "problem"),):
            return  # passes on the problem of another place
        texts = [shown(value[0][1]) for value in values]
        if not any(value[0][1] == (("field", "problem"),) for value in values):
            self.reports.append(Report(source, at, [kind(texts[0]), texts[0], "device '…'"] + texts[1:]))
            return
        for where, place, problem, remedy in pairs:
            self.reports.append(Report(where, place, [kind(texts[0]), texts[0], "device '…'", problem, remedy]))

    def _survey_problems(self):
        """(source, place, problem, remedy) of each reason why the CUDA driver or a device cannot be used."""
        pairs = []
        for source in self.program.sources:
            if source.path != "kernels/cuda/cuda_survey.cpp":
                continue
            for i, word in enumerate(source.words):
                if word == "{" and source.word(i - 1) in ("return", "Refusal") and source.function_at(i):
                    elements = source.split(i + 1, source.partner[i])
                    values = [self.program.value(source, *e) for e in elements]
                    if len(values) == 2 and all(has_text(value) for value in values):
                        pairs += [(source, i) + tuple(map(shown, fields)) for fields in self._combined(values)]
        if not pairs:
            raise Trouble("kernels/cuda/cuda_survey.cpp: no reasons found why a device cannot be used")
        return pairs

    def _plugin_kind(self):
        """The kind of the Error that open_backend() makes of a code of the plugin."""
        rule = re.compile(r'missing = problem\.code == "(PAL-[A-Z0-9-]+)";\s*'
                          r'throw Error\(missing \? ErrorKind::(\w+) : ErrorKind::(\w+), problem\.code')
        for source in self.program.sources:
            found = rule.search(source.text)
            if found:
                return lambda code: found[2] if code == found[1] else found[3]
        raise Trouble("kernels/open_backend.cpp: cannot see the kinds of the plugin's errors; see _plugin_kind() in "
                      "docs/errors.py")

    # --- completeness --------------------------------------------------------------------------------------------

    def _check_used(self):
        """Each literal that is a code, or a part of one, belongs to an error that was found, or is compared."""
        known = self.used | self.program.in_lists
        for source in self.program.sources:
            composed = source.path.startswith("engine/model/")
            for i, kind in enumerate(source.kinds):
                if kind != "string" or (source.path, i) in known:
                    continue
                text = text_of_literal(source.words[i])
                is_code = "PAL-" in text
                is_rule = composed and re.fullmatch(r"[CST][0-9]{1,2}|[0-9]{1,2}", text)
                if (is_code and not self._is_mention(source, i, text)) or (is_rule and not self._is_other(source, i)):
                    raise Trouble("%s: cannot see which error has the code or rule \"%s\"" % (source.at(i), text))

    @staticmethod
    def _is_mention(source, i, text):
        opening = source.parent[i]
        if source.word(i - 1) in ("==", "!=") or source.word(opening - 1) == "starts_with":
            return True
        if "[PAL-" in text:
            return True  # a note that ends with the code of the error it is about
        codes = [e for e in source.split(opening + 1, source.partner[opening])] if source.word(opening) == "{" else []
        return len(codes) > 2 and all(CODE.fullmatch(text_of_literal(source.words[a])) for a, _ in codes
                                      if source.kinds[a] == "string")

    @staticmethod
    def _is_other(source, i):
        """A literal of engine/model that looks like a rule: a safetensors type such as "C64", a number as text."""
        return source.word(source.parent[i]) == "{" and source.word(i + 1) == "," and source.word(i + 2) == "{" or \
            source.word(i - 1) in ("==", "!=", "+") or source.word(i + 1) == "+"


def source_files():
    paths = []
    for folder in FOLDERS:
        for at, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            paths += [os.path.relpath(os.path.join(at, name), ROOT) for name in sorted(names)
                      if name.endswith((".h", ".cpp", ".cu", ".cuh"))]
    return paths


def named_codes(paths):
    """Code -> first place that names it, by a plain search, comments included."""
    places = {}
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                for code in CODE.findall(line):
                    places.setdefault(code, "%s:%d" % (path, number))
    return places


def mentioning_files():
    for start in MENTIONS:
        if os.path.isfile(os.path.join(ROOT, start)):
            yield start
        for at, folders, names in os.walk(os.path.join(ROOT, start)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(at, name), ROOT)
                if path != PAGE and name.endswith((".cpp", ".h", ".cu", ".py", ".md", ".txt", ".sh", ".cmake")):
                    yield path


# --- the page ------------------------------------------------------------------------------------------------------


def escaped(text):
    text = re.sub(r"([\\`*|<])", r"\\\1", text).replace("__", r"\_\_")
    return " ".join(text.split())


def statuses():
    with open(os.path.join(ROOT, "kernels/base/error.h"), encoding="utf-8") as file:
        found = re.findall(r"^    (\w+) = (\d+),", file.read(), re.MULTILINE)
    if not found:
        raise Trouble("kernels/base/error.h: ErrorKind not found")
    with open(os.path.join(ROOT, "app/palimpsest/application.cpp"), encoding="utf-8") as file:
        if "return static_cast<int>(error.kind());" not in file.read():
            raise Trouble("app/palimpsest/application.cpp: the exit status is no longer the number of the kind")
    return dict(found)


def numbered(items, keys):
    """The distinct items; with the numbers of the sentences they belong to, if they do not belong to all."""
    sentences = {}
    for item, key in zip(items, keys):
        sentences.setdefault(item, set()).add(key)
    every = set(keys)
    lines = []
    for item, numbers in sentences.items():
        if not item:
            continue
        prefix = "" if numbers == every or len(every) == 1 else ranges(sorted(numbers)) + ": "
        lines.append(prefix + item)
    return "<br>".join(lines) or "–"


def ranges(numbers):
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else "%d–%d" % (a, b) if b > a + 1 else "%d, %d" % (a, b) for a, b in runs)


def sentence(report):
    named = re.search(r"\w", report.subject)
    what = escaped(report.what) if re.search(r"\w", report.what) else described(SENTENCES, report, "what happened")
    return (escaped(report.subject) + ": " if named else "") + what


def remedy(report):
    return described(REMEDIES, report, "what to do") if report.remedy == HOLE else escaped(report.remedy)


def described(table, report, column):
    if report.code not in table:
        raise Trouble("%s: %s for %s is known only at run time: describe it in docs/errors.py" %
                      (report.source.at(report.at), column, report.code))
    return "*%s*" % table[report.code]


def merged(texts):
    """Sentences that differ only in a quoted word, or in the key of key=value, become one if they are many."""
    patterns = [re.sub(r"'[\w.…/-]+'", "'…'", re.sub(r"[\w-]+(?==…)", HOLE, text)) for text in texts]
    members = {}
    for text, pattern in zip(texts, patterns):
        members.setdefault(pattern, set()).add(text)
    return [pattern if len(members[pattern]) >= MANY_ALIKE else text for text, pattern in zip(texts, patterns)]


def is_for_the_command(remedy):
    """As in ui/engine/failure.cpp."""
    return "--" in remedy or "palimpsest " in remedy


def row(code, reports, status, window_remedies):
    reports = sorted(reports, key=lambda r: (r.source.path, r.at, sentence(r), r.remedy))
    texts = merged([sentence(r) for r in reports])
    sentences = list(dict.fromkeys(texts))
    number = {text: i for i, text in enumerate(sentences, 1)}
    keys = [number[text] for text in texts]
    what = sentences[0] if len(sentences) == 1 else "<br>".join("%d. %s" % (i, s) for i, s in enumerate(sentences, 1))
    kinds = numbered(["%s, %s" % (r.kind, status[r.kind]) if r.kind else "" for r in reports], keys)
    remedies = numbered([remedy(r) for r in reports], keys)
    if code in window_remedies and any(is_for_the_command(r.remedy) for r in reports):
        remedies += "<br>In the window: " + escaped(window_remedies[code])
    files = "<br>".join("`%s`" % path for path in dict.fromkeys(r.source.path for r in reports))
    return "| `%s` | %s | %s | %s | %s |\n" % (code, kinds, what, remedies, files)


def group_of(code):
    return code.split("-")[1]


def order_in_group(code):
    number = code.split("-")[-1]
    return not number.isdigit(), number.zfill(2), code


def generated(finder):
    status = statuses()
    by_code = {}
    for report in finder.reports:
        by_code.setdefault(report.code, []).append(report)
    composed = set(by_code) - set(named_codes(source_files()))
    parts = ["%d codes in %d groups. The source code has %d of them in one piece; the other %d are composed of "
             "`PAL-MODEL-` and a rule.\n"
             % (len(by_code), len(GROUPS), len(by_code) - len(composed), len(composed))]
    for group, about in GROUPS.items():
        codes = sorted((code for code in by_code if group_of(code) == group), key=order_in_group)
        if not codes:
            raise Trouble("docs/errors.py: the group PAL-%s has no codes" % group)
        title = "PAL-" + group
        parts.append("\n### %s\n\n%s\n\n| code | kind, exit status | what happened | what to do | where |\n"
                     "|---|---|---|---|---|\n" % (title, about))
        parts += [row(code, by_code[code], status, finder.window_remedies) for code in codes]
    return "".join(parts), by_code


def check_complete(by_code, window_remedies):
    reported = set(by_code)
    for code in sorted(reported):
        if group_of(code) not in GROUPS:
            raise Trouble("docs/errors.py: GROUPS says nothing about PAL-%s (%s)" % (group_of(code), code))
    for what, places in (("the source code names", named_codes(source_files())),
                         ("a test or document names", named_codes(mentioning_files()))):
        for code, place in sorted(places.items()):
            if code not in reported:
                raise Trouble("%s: %s %s, but nothing reports it" % (place, what, code))
    for code in sorted(reported - set(named_codes(source_files()))):
        if not code.startswith("PAL-MODEL-"):
            raise Trouble("%s is composed, and is no code of a model file" % code)
    for code in sorted(set(window_remedies) - reported):
        raise Trouble("ui/engine/failure.cpp: a remedy for %s, which nothing reports" % code)


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--check"]):
        sys.exit("usage: errors.py [--check]")
    try:
        finder = Finder(Program())
        finder.run()
        part, by_code = generated(finder)
        check_complete(by_code, finder.window_remedies)
    except Trouble as trouble:
        sys.exit(str(trouble))
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        before = file.read()
    if before.count(BEGIN) != 1 or before.count(END) != 1 or before.index(END) < before.index(BEGIN):
        sys.exit("%s must have one line %s and one %s behind it" % (PAGE, BEGIN.strip(), END))
    for kind, status in statuses().items():
        if "| %s | %s |" % (status, kind) not in before:
            sys.exit("%s: the table of exit statuses lacks %s, %s" % (PAGE, kind, status))
    after = before[:before.index(BEGIN) + len(BEGIN)] + part + before[before.index(END):]
    if "--check" not in arguments:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(after)
        return 0
    difference = list(difflib.unified_diff(before.splitlines(), after.splitlines(), PAGE, "as generated", n=0,
                                           lineterm=""))
    print("\n".join(difference))
    if difference:
        print("%s is not what the code says; run docs/errors.py" % PAGE)
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
