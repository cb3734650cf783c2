"""Finds what errors the source code reports: kind, code, subject, sentence and remedy, as they occur together.

Each place that makes an `Error` is evaluated: patterns of Text are kept, settings and steps are worded as by the
command, and a value that is known only at run time becomes "…". A parameter of the surrounding function is replaced
by what each of its callers passes, and so on outwards; a member by what the constructors store in it."""
import functools
import itertools
import re

import cpp
import sources

FOLDERS = ("app/", "ui/", "storage/", "engine/", "kernels/")
WORDINGS = {"command": "app/palimpsest/wording.cpp", "window": "ui/base/wording.cpp"}
ENUMERATIONS = {"ErrorCode", "ErrorKind", "Setting", "Step"}
FOLLOWED = ENUMERATIONS | {"Text", "auto"}  # types of parameters and members whose values are followed
CODE_TABLE = "kernels/base/error_code.cpp"
OPEN_BACKEND = "kernels/backends/open_backend.cpp"
PLUGIN = ("kernels/backends/device_plugin.cpp", "kernels/cuda/cuda_survey.cpp", "kernels/cuda/plugin.cpp")
WITHOUT_ERRORS = {CODE_TABLE, "kernels/cuda/plugin.cpp", "app/palimpsest/gpu_report.cpp"}  # they pass on codes
HOLE = "…"
MOST_STEPS = 8  # callers of callers
MOST_SENTENCES = 1000  # of one place


class Trouble(Exception):
    pass


# --- values ----------------------------------------------------------------------------------------------------------
#
# A value is a list of alternatives (conditions, parts). The conditions say which side of each "?" was taken, so that
# code, sentence and remedy of one place are combined as they occur. A part is a text, HOLE, or one of these:

class Reference(tuple):
    """(function, index of the parameter, field of it or None)"""


class Elements(tuple):
    """(code, index of the "{") of a list in braces"""


class PassedOn(str):
    """A field of another error, which is reported elsewhere."""


UNKNOWN = [({}, (HOLE,))]


def constant(text):
    return [({}, (text,))]


def agree(a, b):
    return all(b.get(key, value) == value for key, value in a.items())


def unique(value):
    return list({(tuple(sorted(c.items(), key=str)), p): (c, p) for c, p in value}.values())


def product(values, join):
    """The combinations of alternatives whose conditions agree, their parts joined."""
    result = [({}, ())]
    for value in values:
        result = [({**c, **d}, join(p, q)) for c, p in result for d, q in value if agree(c, d)]
    return result


def concat(values):
    return unique(product(values, lambda p, q: p + q))


def combined(values):
    """The tuples of fields that occur together."""
    return list(dict.fromkeys(fields for _, fields in product(values, lambda fields, parts: fields + (parts,))))


def shown(parts):
    text = "".join(part if isinstance(part, str) else HOLE for part in parts)
    return re.sub(HOLE + r"(?:[\s.]*" + HOLE + ")+", HOLE, text)


class Program:
    """The source code, with what its expressions may be. Names are resolved as far as that takes no compiler: by
    scope, included headers, the declared type in front of "." and "->", and the number of arguments."""

    def __init__(self, root):
        self.root = root
        self.structures = {code: cpp.Structure(code) for code in cpp.load(root, FOLDERS)}
        self.by_path = {code.path: code for code in self.structures}
        self.functions, self.classes, self.words = {}, {}, {}
        for code, structure in self.structures.items():
            for function in structure.functions:
                self.functions.setdefault(function.name, []).append(function)
            for found in structure.classes:
                self.classes.setdefault(found.name, []).append(found)
            for i, word in enumerate(code.words):
                if code.kinds[i] == "name":
                    self.words.setdefault(word, []).append((code, i))
        self.wordings = {name: self._wording(path) for name, path in WORDINGS.items()}
        self.evaluating = []
        self.codes_seen = set()  # (path, token) of codes that were evaluated

    def _wording(self, path):
        """"Setting::Budget" -> how a front end calls it."""
        code, names = self.by_path.get(path), {}
        for i in range(len(code.words) if code else 0):
            arguments = code.arguments(i) if code.opens(i, "{") and code.words[i + 1] in ("Setting", "Step") else []
            if len(arguments) == 2:
                names["".join(code.words[i + 1:i + 4])] = code.literal(*arguments[1])
        return names

    # --- names ---

    @functools.cached_property
    def _includes(self):
        pattern = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
        return {path: set(pattern.findall(sources.read(self.root / path))) for path in self.by_path}

    @functools.lru_cache(None)
    def visible(self, path):
        """The paths of a file's headers, and theirs, and of itself."""
        seen, queue = set(), [path]
        while queue:
            at = queue.pop()
            if at not in seen:
                seen.add(at)
                queue += self._includes.get(at, ())
        return seen

    def class_named(self, name, code):
        found = [c for c in self.classes.get(name, []) if c.code.path in self.visible(code.path)]
        return next((c for c in found if c.code is code), found[0] if found else None)

    def derives(self, name, base, code):
        found = self.class_named(name, code)
        return name == base or found is not None and any(b != name and self.derives(b, base, found.code)
                                                         for b in found.bases)

    def owner_at(self, code, i):
        """The name of the class of the method around a token."""
        function = self.structures[code].function_around(i)
        while function and function.outer:
            function = function.outer
        return function.owner if function else None

    @functools.lru_cache(None)
    def type_words(self, code, i):
        """The names before the variable or member at token i, wherever its class, or a file and its header, declare one
        of this name."""
        name, owner = code.words[i], self.owner_at(code, i)
        found = self.class_named(owner, code) if name.endswith("_") and owner else None
        header = self.by_path.get(re.sub(r"\.\w+$", ".h", code.path))
        words = set()
        for where, k in self.words.get(name, []):
            if found.begin < k < found.end and where is found.code if found else where in (code, header):
                while where.word(k - 1) in ("&", "*", ">", "&&", "const"):
                    k -= 1
                words.update([where.words[k - 1]] if where.kind(k - 1) == "name" else [])
        return words

    def means(self, function, code, i):
        """Whether the name at token i, in front of arguments, is `function`."""
        before, own = code.word(i - 1), self.structures[code].function_around(i)
        if own is None or before in ("&", "*", ">") or (code.kind(i - 1) == "name"
                                                        and before not in cpp.BEFORE_EXPRESSION):
            return False  # a declaration
        if function.is_lambda:
            return before not in (".", "->", "::") and code is function.code and function.outer is not None and \
                function.outer.begin < i < function.outer.end
        is_method = function.owner in self.classes
        is_other = function.is_local and code is not function.code
        header = re.sub(r"\.\w+$", ".h", function.code.path)
        if not is_method and (is_other or before in (".", "->") or
                              {function.code.path, header}.isdisjoint(self.visible(code.path))):
            return False
        if before == "::":
            return code.word(i - 2) == function.owner if is_method else code.word(i - 2) not in self.classes
        owner = self.owner_at(code, i)
        if before not in (".", "->"):
            if is_method:
                return owner is not None and not is_other and self.derives(owner, function.owner, code)
            hidden = [f for f in self.functions[function.name] if f.owner and f.owner == owner or f.is_lambda
                      and f.outer and f.code is code and f.outer.begin < i < f.outer.end]
            return not hidden
        receiver = code.partner[i - 2] - 1 if code.word(i - 2) == ")" else i - 2
        types = ({code.word(receiver)} if receiver != i - 2 else self.type_words(code, receiver)) & set(self.classes)
        if not types:
            return all(f.owner == function.owner for f in self.functions[function.name] if not f.is_lambda)
        return any(not is_other and self.derives(t, function.owner, code) or t != function.owner and
                   self.derives(function.owner, t, function.code) for t in types)

    @functools.lru_cache(None)
    def callers(self, function):
        """(code, token, ranges of the arguments) of each call of a function or constructor."""
        calls = []
        is_constructor = function.name is not None and function.name == function.owner
        names = {function.name} | ({word for c in self.structures for f in self.structures[c].functions
                                    for word in f.initialised} if is_constructor else set())
        for code, i in itertools.chain.from_iterable(self.words.get(name, []) for name in names if name):
            k = i
            if is_constructor:
                named = code.words[i] == function.name
                if named and code.kind(i + 1) == "name":
                    k = i + 1  # a variable
                elif named and code.word(i + 1) == ">":
                    k = i + 1  # make_unique<...>
                elif not named and function.name not in self.type_words(code, i):
                    continue
                if code.word(i - 1) in ("class", "struct") or \
                        self.class_named(function.owner, code) is not self.class_named(function.owner, function.code):
                    continue
            k = behind_angles(code, k + 1) - 1
            if not code.opens(k + 1, "({") or not is_constructor and not self.means(function, code, i):
                continue
            arguments = code.arguments(k + 1)
            if function.takes(len(arguments)) and function.begin != i:
                calls.append((code, i, arguments))
        return calls

    # --- expressions ---

    def value(self, code, begin, end):
        """The value of the expression in a range of tokens."""
        while begin < end and code.opens(begin, "(") and code.partner[begin] == end - 1:
            begin, end = begin + 1, end - 1
        i = question = begin
        while i < end:
            if code.opens(i):
                i = code.partner[i]
            elif code.words[i] == "?":
                return self._choice(code, begin, i, end)
            elif code.words[i] in ("+", "==", "!=", "&&", "||", "<<", "=") and code.kinds[i] != "string":
                return UNKNOWN
            i += 1
        if question == end:
            return constant("")
        text = code.literal(begin, end)
        if text is not None:
            return constant(text)
        last = end - 1
        if code.words[begin] == "[":
            function = next((f for f in self.structures[code].functions if f.begin == begin), None)
            return self._returned(function) if function else UNKNOWN
        if code.kinds[last] == "mark_of_code" and code.words[last] in ")}" and code.partner[last] >= begin:
            return self._call(code, begin, code.partner[last])
        if code.kinds[last] != "name":
            return constant(code.words[last]) if code.kinds[last] == "number" and last == begin else UNKNOWN
        if code.word(last - 1) == "::" and code.word(last - 2) in ENUMERATIONS:
            self.codes_seen.add((code.path, last))
            return constant(self._worded(code.words[last - 2], code.words[last]))
        if code.word(last - 1) in (".", "->") and last - 1 > begin:
            return self._field(self.value(code, begin, last - 1), code.words[last])
        return self._name(code, last)

    def _worded(self, enumeration, name):
        wording = self.wordings["command"]
        return name if enumeration.startswith("Error") else wording.get(f"{enumeration}::{name}", name)

    def _choice(self, code, begin, question, end):
        """The alternatives of `condition ? a : b`."""
        depth, i = 0, question + 1
        while i < end and (depth or code.words[i] != ":"):
            if code.opens(i):
                i = code.partner[i]
            depth += (code.words[i] == "?") - (code.words[i] == ":")
            i += 1
        function = self.structures[code].function_around(question)
        key = (code.path, function.begin if function else 0, " ".join(code.words[begin:question]))
        return unique([({**c, key: side}, p) for side, (a, b) in ((True, (question + 1, i)), (False, (i + 1, end)))
                       for c, p in self.value(code, a, b) if c.get(key, side) == side])

    def _call(self, code, begin, opening):
        name = code.words[opening - 1] if opening > begin else ""
        arguments = code.arguments(opening)
        if opening == begin:
            return [({}, (Elements((code, opening)),))]
        if name == "Text" or code.word(opening - 2) == "Text" and name not in ("verbatim", "escaped"):
            return self._text(code, arguments) if arguments else constant("")
        if name in ("move", "forward") and len(arguments) == 1 or name == "verbatim" and code.literal(*arguments[0]):
            return self.value(code, *arguments[0])
        if name in ("code", "text", "remedy", "subject", "kind") and code.word(opening - 2) in (".", "->"):
            return constant(PassedOn(HOLE))
        if name in self.classes and code.words[opening] == "{":
            return [({}, (Elements((code, opening)),))]
        found = [f for f in self.functions.get(name, [])
                 if f.takes(len(arguments)) and self.means(f, code, opening - 1)]
        found = [f for f in found if f.code is code] or found  # among overloads, the one of this file
        if len(found) == 1:
            return self.with_arguments(self._returned(found[0]), found[0], code, arguments)
        return self._name(code, opening - 1) if not arguments and opening - 1 == begin else UNKNOWN

    def _text(self, code, arguments):
        """A pattern or step with its values."""
        values = [self.value(code, *argument) for argument in arguments]
        result = []
        for conditions, parts in values[0]:
            pattern = [[({}, (part,))] for part in parts if not isinstance(part, str)]
            for part in (part for part in parts if isinstance(part, str)):
                for piece in re.split(r"(\{[0-9]\})", part):
                    hole = int(piece[1]) + 1 if re.fullmatch(r"\{[0-9]\}", piece) else None
                    pattern.append(constant(piece) if hole is None else
                                   values[hole] if hole < len(values) else UNKNOWN)
            result += [({**conditions, **c}, p) for c, p in concat(pattern) if agree(conditions, c)]
        return unique(result)

    def _returned(self, function):
        """What a function returns that has only a few return statements."""
        code = function.code
        starts = [k + 1 for k in range(function.body, function.end) if code.words[k] == "return"
                  and self.structures[code].function_around(k) is function]
        if not 1 <= len(starts) <= 8 or function in self.evaluating or len(self.evaluating) > 4:
            return UNKNOWN
        self.evaluating.append(function)
        value = [alternative for k in starts for alternative in self.value(code, k, statement_end(code, k))]
        self.evaluating.pop()
        return unique(value)

    def with_arguments(self, value, function, code, arguments):
        """A value with the parameters of a function replaced by what a call passes."""
        def passed(part):
            if not isinstance(part, Reference) or part[0] is not function:
                return [({}, (part,))]
            parameter = function.parameters[part[1]]
            if part[1] < len(arguments):
                return self._field(self.value(code, *arguments[part[1]]), part[2])
            return self.value(function.code, *parameter.default) if parameter.default else UNKNOWN
        return unique([({**c, **d}, p) for c, parts in value for d, p in concat(map(passed, parts)) if agree(c, d)])

    def _field(self, value, field):
        if field is None:
            return value
        result = []
        for conditions, parts in value:
            part = parts[0] if len(parts) == 1 else None
            found = UNKNOWN
            if isinstance(part, Reference):
                found = [({}, (Reference((part[0], part[1], field)),))]
            elif isinstance(part, Elements):
                found = self._element(*part, field)
            result += [({**conditions, **c}, p) for c, p in found]
        return result

    def _element(self, code, opening, field):
        elements = code.arguments(opening)
        self.codes_seen.update((code.path, k) for k in range(opening, code.partner[opening]))
        for begin, end in elements:
            if code.words[begin:begin + 3] == [".", field, "="]:
                return self.value(code, begin + 3, end)
        places = (index for path, index in self._fields.get(field, []) if path in self.visible(code.path))
        index = next(places, len(elements))
        return self.value(code, *elements[index]) if index < len(elements) else UNKNOWN

    @functools.cached_property
    def _fields(self):
        """Name of a data member -> [(path, its index in its class)]."""
        fields = {}
        for found in itertools.chain.from_iterable(self.classes.values()):
            for index, name in enumerate(found.fields()):
                fields.setdefault(name, []).append((found.code.path, index))
        return fields

    def _name(self, code, i):
        name, function = code.words[i], self.structures[code].function_around(i)
        while function:
            local = self._local(code, function, i, name)
            if local is not None:
                return local
            for index, parameter in enumerate(function.parameters):
                if parameter.name == name:
                    is_followed = any(w in FOLLOWED or w in self.classes for w in parameter.type_words)
                    return [({}, (Reference((function, index, None)),))] if is_followed else UNKNOWN
            if not function.outer and function.owner and name.endswith("_"):
                return self._member(code, function.owner, i)
            function = function.outer
        for where, k in self.words.get(name, []):  # a constant
            if where.word(k + 1) == "=" and where.path in self.visible(code.path) and \
                    self.structures[where].function_around(k) is None:
                return self.value(where, k + 2, statement_end(where, k + 2))
        return UNKNOWN

    def _local(self, code, function, i, name):
        """The values that a local variable may have at token i; None if there is no such variable."""
        for k in range(i - 1, function.body, -1):
            before = code.word(k - 1)
            if code.words[k] == name and code.kinds[k] == "name" and code.word(k + 1) in ("=", "(", "{", ";") and \
                    (code.kind(k - 1) == "name" and before not in cpp.BEFORE_EXPRESSION or before in ("&", ">", "*")) \
                    and code.partner.get(code.parent[k], 0) > i:
                break
        else:
            return None
        values, opening = [], code.word(k + 1)
        if opening in ("(", "{"):
            values += self._text(code, code.arguments(k + 1)) if code.word(k - 1) == "Text" else \
                [({}, (Elements((code, k + 1)),))]
        for j in range(k, i):
            if code.words[j] == name and code.word(j + 1) == "=" and (j == k or code.word(j - 1) in ";{})") and \
                    statement_end(code, j + 2) < i:
                values += self.value(code, j + 2, statement_end(code, j + 2))
        # The number that a variable begins with says nothing about what it is later.
        return [(c, (HOLE,)) if "".join(map(str, p)).isdigit() else (c, p) for c, p in values] or UNKNOWN

    def _member(self, code, owner, i):
        """What the constructors of a class store in a member."""
        name, found, values = code.words[i], self.class_named(owner, code), []
        types = self.type_words(code, i)
        if found and (types & FOLLOWED or types & set(self.classes)):
            for function in self.functions.get(owner, []):
                if name in function.initialised and found.code.path in self.visible(function.code.path):
                    values += self.value(function.code, *function.initialised[name])
        return unique(values) or UNKNOWN


def behind_angles(code, i):
    """The token behind <...>, or i if none begins there."""
    k, depth = i, 0
    while code.word(i) == "<" and code.word(k) not in (";", "{", "&&", ""):
        depth += (code.words[k] == "<") - (code.words[k] == ">")
        k += 1
        if not depth:
            return k
    return i


def statement_end(code, k):
    while code.word(k) not in (";", ",", ")", "}", ""):
        k = code.partner[k] + 1 if code.opens(k) else k + 1
    return k


# --- sites -----------------------------------------------------------------------------------------------------------


class Report:
    """One error as it may be reported. `path` is the file that says what happened."""

    def __init__(self, path, kind, code, subject, what, remedy):
        self.path, self.kind, self.code = path, kind, code
        self.subject, self.what, self.remedy = subject, what, remedy


def sites(program):
    """(code, token, ranges of the arguments) of each place that makes an Error."""
    for code, structure in program.structures.items():
        for i in range(len(code.words)):
            function = structure.function_around(i)
            if code.opens(i, "({") and function and function.name != "Error":
                arguments = code.arguments(i)
                is_error = "Error" in (code.word(i - 1), code.word(i - 2))
                if len(arguments) in (5, 6) and (is_error or code.words[arguments[0][0]] == "ErrorKind"):
                    yield code, i, arguments[:5]


def reports_of(program, code, at, arguments):
    """The reports of one place, for all callers of the functions around it."""
    values = [program.value(code, *argument) for argument in arguments]
    queue, seen, reports = [(code.path, fields, 0) for fields in combined(values)], set(), {}
    while queue:
        path, fields, steps = queue.pop()
        if (path, fields) in seen:
            continue
        seen.add((path, fields))
        reference = next((part for k in (1, 0, 3, 4, 2) for part in fields[k] if isinstance(part, Reference)), None)
        if reference is None or steps == MOST_STEPS:
            if not any(isinstance(part, PassedOn) for part in fields[1]):
                texts = (path, *map(shown, fields))  # the same for many ways through the callers
                reports[texts] = Report(*texts)
            if len(reports) > MOST_SENTENCES:
                raise Trouble(f"{code.at(at)}: this place has too many sentences")
            continue
        function = reference[0]
        for caller, _, passed in program.callers(function) or [(function.code, 0, [])]:
            replaced = [program.with_arguments([({}, parts)], function, caller, passed) for parts in fields]
            for new in set(combined(replaced)) - {fields}:  # a recursive call passes nothing new
                says_more = len(shown(new[3])) > len(shown(fields[3]))
                queue.append((caller.path if says_more else path, new, steps + 1))
    # An alternative without any words, of a function that other code calls through a pointer, says nothing.
    with_words = [report for report in reports.values() if has_words(report.what)]
    return with_words or list(reports.values())


def has_words(text):
    return re.search(r"\w", text) is not None


def plugin_reports(program):
    """What the GPU plugin and its loader report. They fill structs with code, problem and remedy, of which
    open_backend() makes an Error; a driver or device that cannot be used has a problem and a remedy only."""
    for path, code in program.by_path.items():
        if not path.startswith(PLUGIN):
            continue
        for i in range(len(code.words)):
            elements = code.arguments(i) if code.opens(i, "{") and program.structures[code].function_around(i) else []
            values = [program.value(code, *element) for element in elements] if len(elements) in (2, 3) else []
            if len(values) == 3 and code.words[elements[0][0]] != "ErrorCode":
                continue
            if len(values) == 2:
                values.insert(0, constant("GpuUnavailable"))
            for fields in combined(values) if values else []:
                name, what, remedy = map(shown, fields)
                if has_words(what) and has_words(remedy):
                    kind = "NotFound" if name == "GpuUnavailable" else "Resources"  # as in open_backend()
                    yield Report(path, kind, name, "device '…'", what, remedy)


def find(program):
    """All reports. Throws Trouble for a place whose code or kind cannot be seen, and for a code that no place has."""
    reports = list(plugin_reports(program))
    for code, at, arguments in sites(program):
        for report in reports_of(program, code, at, arguments):
            if report.kind.isidentifier() and report.code.isidentifier():
                reports.append(report)
            elif code.path != OPEN_BACKEND:
                raise Trouble(f"{code.at(at)}: cannot see which kind and code this has ({report.path}: {report.what})")
    for code in program.structures:
        for i, word in enumerate(code.words):
            is_argument = word == "ErrorCode" and code.word(i - 1) in ("(", ",", "{") and code.word(i + 3) in (",", "}")
            if is_argument and (code.path, i + 2) not in program.codes_seen and code.path not in WITHOUT_ERRORS:
                raise Trouble(f"{code.at(i)}: cannot see which error has the code {code.word(i + 2)}")
    return sorted(reports, key=lambda r: (r.code, r.path, r.kind, r.subject, r.what, r.remedy))
