"""Compiles and links the programs of tests/gpu/run without CMake: with g++, nvcc and the carried headers."""
import concurrent.futures
import functools
import glob
import hashlib
import os
import re
import shutil
import time

from programs import Command, Failure, ROOT


OLDEST = "75"  # every kernel runs on it


class Toolchain:
    def __init__(self, options):
        self.carry = os.path.abspath(options.carry)
        self.dry = options.dry
        self.build = os.path.join(ROOT, "build", "gpu-dry" if self.dry else "gpu")
        self.bin = os.path.join(self.build, "bin")
        os.makedirs(self.bin, exist_ok=True)
        with open(os.path.join(self.build, "source-folder.txt"), "w") as out: # see tests/support/project_folders.h
            out.write(ROOT + "\n")
        self.cxx = os.environ.get("CXX") or shutil.which("g++")
        self.launcher = launcher() if self.dry else []
        self.built = built_libraries(options.libraries)
        self.nvcc = find_tool("nvcc")
        self.sanitizer = find_tool("compute-sanitizer", "compute-sanitizer")
        self.arch = options.arch
        self.include = os.path.join(self.carry, "include")
        self.lib = os.path.join(self.carry, "lib")

    def libraries(self):
        return sorted(glob.glob(self.lib + "/*.so*"))

    def cxx_flags(self):
        return ["-std=c++20", "-O0" if self.dry else "-O3", "-DNDEBUG", "-ffp-contract=off", "-fPIC", "-pthread", "-w",
                *self.catch_2(), "-I" + ROOT,
                "-isystem", self.include, "-DHWY_SHARED_DEFINE",
                "-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)"]

    def catch_2(self):
        """Where version 2 of Catch2 was carried: puts it before version 3, of which the machine may have the headers alone."""
        if os.path.exists(os.path.join(self.include, "catch2", "catch_all.hpp")):
            return []
        first = os.path.join(self.build, "first")
        os.makedirs(os.path.join(first, "tests", "support"), exist_ok=True)
        with open(os.path.join(first, "tests", "support", "catch.h"), "w") as out:
            out.write("#pragma once\n#include <catch2/catch.hpp>\n")
        return ["-I" + first]

    def nvcc_flags(self):
        targets = ["--generate-code=arch=compute_%s,code=sm_%s" % (arch, arch) for arch in (self.arch or OLDEST).split(",")]
        return ["-std=c++20", "-O3", "-DNDEBUG", "-I" + ROOT, *targets, "-lineinfo", "--expt-relaxed-constexpr", "--fmad=false", "-w",
                "-Xcompiler", "-fPIC,-fvisibility=hidden,-ffp-contract=off"]

    def cuda_include(self):
        real = os.path.realpath(self.nvcc)
        for folder in (os.path.join(os.path.dirname(os.path.dirname(real)), "include"), "/usr/local/cuda/include"):
            if os.path.exists(os.path.join(folder, "cuda_runtime.h")):
                return folder
        return "/usr/include"


def launcher():
    """The command prefix for ccache, if installed; its cache is shared between checkouts."""
    ccache = shutil.which("ccache")
    return ["env", "CCACHE_BASEDIR=" + ROOT, "CCACHE_NOHASHDIR=1", ccache] if ccache else []


def built_libraries(folder):
    """The static libraries of a CMake build of the same sources; none without a folder."""
    return [os.path.join(folder, name, "libpalimpsest-%s.a" % name) for name in ("engine", "kernels")] if folder else []


def find_tool(name, folder="bin"):
    places = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places += sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    candidates = [shutil.which(name)]
    candidates += [os.path.join(place, part, name) for place in places if place for part in ("bin", folder)]
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


def sources(*patterns):
    """Files that match the patterns; patterns that begin with "!" exclude files."""
    find = lambda pattern: {os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, pattern), recursive=True)}
    found = set().union(*(find(p) for p in patterns if not p.startswith("!")))
    return sorted(found.difference(*(find(p[1:]) for p in patterns if p.startswith("!"))))


class Object:
    """One source and its compiler command; skipped if source, headers and flags are unchanged."""

    def __init__(self, tools, source, for_plugin=False):
        self.source = source
        kind = "plugin" if for_plugin else "host"
        self.path = os.path.join(tools.build, "obj", kind, source.replace("/", "_") + ".o")
        self.depends = self.path + ".d"
        self.stamp = self.path + ".stamp"
        if source.endswith(".cu"):
            self.words = [*tools.launcher, tools.nvcc, *tools.nvcc_flags(), "-MD", "-MF", self.depends, "-c", source, "-o", self.path]
        else:
            cuda = ["-isystem", tools.cuda_include()] if "kernels/cuda/" in source or "bench/gpu_" in source else []
            hidden = ["-fvisibility=hidden"] if for_plugin else []
            # Optimizes Catch2 and test code less, because only kernels and engine are measured.
            quick = ["-O1"] if not tools.dry and source.startswith(("tests/unit/", "tests/support/")) else []
            self.words = [*tools.launcher, tools.cxx, *tools.cxx_flags(), *quick, *cuda, *hidden, "-MD", "-MF", self.depends, "-c", source, "-o",
                          self.path]
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.why = None

    def weight(self):
        return os.path.getsize(os.path.join(ROOT, self.source)) + (1 << 20 if self.source.endswith(".cu") else 0)

    def fingerprint(self):
        try:
            with open(self.depends) as text:
                names = text.read().replace("\\\n", " ").split(":", 1)[1].split()
            digest = hashlib.sha256("\0".join(self.words).encode())
            for name in names:
                with open(os.path.join(ROOT, name), "rb") as data:
                    digest.update(data.read())
            return digest.hexdigest()
        except (OSError, IndexError):
            return None

    def fresh(self):
        try:
            with open(self.stamp) as text:
                return os.path.exists(self.path) and text.read() == self.fingerprint()
        except OSError:
            return False

    def make(self, limit):
        if self.fresh():
            return None
        command = Command(self.words, limit)
        if command.code != 0:
            self.why = "%s: %s" % (self.source, command.why())
            return command
        with open(self.stamp, "w") as out:
            out.write(self.fingerprint() or "")
        return command


PLUGIN = "libpalimpsest-cuda.so"
KERNELS = ("kernels/*.cpp", "kernels/backends/*.cpp", "kernels/base/*.cpp", "kernels/cpu/*.cpp", "kernels/reference/*.cpp")
DEVICE_FOLDER = "kernels/cuda"
DEVICE = (DEVICE_FOLDER + "/**/*.cu", DEVICE_FOLDER + "/**/*.cpp")
ENGINE = ("engine/**/*.cpp",)
LIBRARIES = {"palimpsest-kernels": "kernels", "palimpsest-engine": "engine"}
BENCHES = {  # name: (sources besides the libraries, library)
    "gpu-bench": (("tests/bench/gpu_*.cpp", "kernels/base/convert.cpp", "kernels/base/dequantise.cpp"), "cuda"),
    "random-model": (("tests/bench/random_model_main.cpp", "tests/support/random_model.cpp"), "kernels"),
    "speed-bench": (("tests/bench/speed_*.cpp", "tests/bench/device_state.cpp"), "engine"),
    "engine-bench": (("tests/bench/engine_bench.cpp", "tests/bench/ceilings.cpp"), "engine"),
    "policy-bench": (("tests/bench/policy_bench.cpp", "tests/bench/ceilings.cpp"), "engine"),
}


def calls(function, under="tests"):
    """Yields (folder, arguments) of every call of a CMake function in a folder's CMakeLists.txt files."""
    for path in sorted(glob.glob(os.path.join(ROOT, under, "**", "CMakeLists.txt"), recursive=True)):
        with open(path) as text:
            plain = re.sub(r"#.*", "", text.read())
        for words in re.findall(r"\b%s\(([^)]*)\)" % function, plain):
            yield os.path.relpath(os.path.dirname(path), ROOT), words.split()


def in_tree(folder, source):
    return os.path.normpath(source.replace("${CMAKE_SOURCE_DIR}", ".") if "$" in source else os.path.join(folder, source))


def plugin_sources():
    """Sources of the CUDA backend, and sources of other folders that the plugin contains."""
    words = next(words for _, words in calls("add_library", DEVICE_FOLDER) if words[0] == "palimpsest-cuda")
    named = [in_tree(DEVICE_FOLDER, word) for word in words[2:] if "$" not in word]
    return sorted({*sources(*DEVICE), *named})


@functools.cache
def follows_device(source):
    """Whether a test, or a test header that it includes, uses the device that PALIMPSEST_TEST_DEVICE names."""
    with open(os.path.join(ROOT, source)) as text:
        found = text.read()
    headers = re.findall(r'#include "(tests/[^"]+)"', found)
    return "PALIMPSEST_TEST_DEVICE" in found or any(follows_device(header) for header in headers)


def device_tests():
    """Test programs with cases that run on any device, from the CMakeLists.txt files: a test joins by including
    tests/unit/kernels/backends.h."""
    # GPU tests need no emulator.
    helpers = {words[0]: [in_tree(folder, w) for w in words[2:]] for folder, words in calls("add_library")
               if not folder.endswith("simt")}
    found = {}
    for folder, (name, *words) in calls("palimpsest_test"):
        begin, end = words.index("SOURCES"), words.index("LIBRARIES")
        own, libraries = [in_tree(folder, w) for w in words[begin + 1:end]], words[end + 1:]
        own += [source for library in libraries for source in helpers.get(library, [])]
        if any(follows_device(source) for source in own):
            needs_engine = any(LIBRARIES.get(library) == "engine" or library in helpers for library in libraries)
            found[name] = ((*own, "tests/support/main.cpp"), "engine" if needs_engine else "kernels")
    return found


# Sources that CMake makes from a file: (header, namespace, array, file).
GENERATED = {"german.cpp": ("engine/messages/german.h", "palimpsest::engine", "german_messages", "resources/messages/de.json")}


def generated_source(tools, name):
    """Writes what cmake/EmbedFile.cmake writes: a file's bytes as an array, and their number."""
    header, namespace, array, file = GENERATED[name]
    with open(os.path.join(ROOT, file), "rb") as data:
        content = data.read()
    path = os.path.join(tools.build, name)
    with open(path, "w") as out:
        out.write('#include "%s"\n\nnamespace %s {\nconst unsigned char %s[] = {%s};\nconst size_t %s_bytes = %d;\n}\n' %
                  (header, namespace, array, ",".join(map(str, content)), array, len(content)))
    return os.path.relpath(path, ROOT)


class Build:
    """Compiles all objects, then links every program whose objects exist."""

    def __init__(self, run):
        self.run, self.tools = run, run.tools
        self.objects = {}
        self.programs = {}
        self.tests = device_tests()
        self.wanted = {**self.tests, **BENCHES}

    def object(self, source, for_plugin=False):
        key = (source, for_plugin)
        if key not in self.objects:
            self.objects[key] = Object(self.tools, source, for_plugin)
        return self.objects[key]

    def plan(self):
        kernels = [] if self.tools.built else [self.object(s) for s in sources(*KERNELS)]
        made = [] if self.tools.built else [generated_source(self.tools, name) for name in GENERATED]
        engine = [] if self.tools.built else [self.object(s) for s in [*sources(*ENGINE), *made]]
        backend = [self.object(s, True) for s in plugin_sources()] if self.tools.nvcc else []
        libraries = {"kernels": kernels, "engine": kernels + engine, "cuda": backend}
        for name, (own, library) in self.wanted.items():
            found = sources(*own)
            if not found or (library == "cuda" and not self.tools.nvcc):
                continue
            parts = [self.object(s) for s in found]
            self.programs[name] = (parts + libraries[library], [self.tools.cxx, "-pthread"])
        if backend:
            self.programs[PLUGIN] = (backend,
                                     [self.tools.nvcc, "-shared", "-cudart", "static", "-Xlinker",
                                      "--version-script=kernels/cuda/plugin.map", "-Xlinker", "-zdefs"])

    def compile(self, end):
        order = sorted(self.objects.values(), key=lambda o: -o.weight())
        done = 0
        with concurrent.futures.ThreadPoolExecutor(self.run.options.jobs) as pool:
            made = {pool.submit(self.compile_one, o, end): o for o in order}
            for future in concurrent.futures.as_completed(made):
                done += 1
                future.result()
                if done % 20 == 0:
                    self.run.report.say("compiled %d of %d" % (done, len(order)))

    def compile_one(self, o, end):
        left = end - time.monotonic()
        if left <= 0:
            o.why = "%s: no time left" % o.source
            return
        command = o.make(left)
        if o.why:
            self.run.report.say("does not compile: " + o.why)
            self.run.report.note("compile " + o.source, command.output)

    def link(self, name, end):
        parts, words = self.programs[name]
        broken = [o for o in parts if o.why]
        # A test file that does not compile only removes its own cases.
        optional = [o for o in broken if name in self.tests and o.source.endswith("_test.cpp")]
        if len(broken) > len(optional):
            return "not linked: " + broken[0].why
        objects = [o.path for o in parts if o not in optional]
        target = os.path.join(self.tools.bin, name)
        libraries = ["-ldl", "-lpthread"] if name == PLUGIN else [
            *self.tools.built, *self.tools.libraries(), "-Wl,-rpath," + self.tools.lib, "-ldl"]
        if self.wanted.get(name, (0, 0))[1] == "cuda":
            words = [self.tools.nvcc, "-cudart", "static"]
            libraries = ["-ldl", "-lpthread"]
        elif os.path.exists(os.path.join(self.tools.lib, "libCatch2.a")) and name in self.tests:
            libraries.append(os.path.join(self.tools.lib, "libCatch2.a"))
        command = Command([*words, *objects, *libraries, "-o", target], max(end - time.monotonic(), 20))
        if command.code == 0:
            return None
        self.run.report.note("link " + name, command.output)
        return command.why()

    def make(self, end):
        self.plan()
        self.compile(end)
        results = {name: self.link(name, end) for name in self.programs}
        self.run.report.found["build"] = {
            "programs": {name: why or "built" for name, why in results.items()},
            "objects": len(self.objects), "not compiled": [o.why for o in self.objects.values() if o.why]}
        failed = [name for name, why in results.items() if why]
        missing = [name for name in (*self.wanted, PLUGIN) if name not in self.programs]
        broken = [o.why for o in self.objects.values() if o.why]
        if broken and not failed:
            raise Failure(broken[0])
        if failed or missing:
            raise Failure("; ".join(["%s: %s" % (n, results[n]) for n in failed] +
                                    ["%s: no sources or no compiler for it" % n for n in missing]))
