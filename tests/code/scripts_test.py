#!/usr/bin/env python3
"""Tests that the scripts that check the code find what they are for, on small trees (standard library only)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Tree(unittest.TestCase):
    """Each test writes its own files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def call(self, script, *arguments, status=0):
        """The output of a script, which must end with `status`."""
        command = [sys.executable, str(HERE / script), "--root", str(self.root), *arguments]
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr


class Messages(Tree):
    def translate(self, **translations):
        self.write("resources/messages/de.json", json.dumps(translations))

    def findings(self):
        """What is wrong, without the line that counts."""
        return self.call("messages.py", status=1).splitlines()[:-1]

    def test_complete_translations_are_accepted(self):
        self.write(
            "storage/a.cpp",
            '#include <x>\n// Text("in a comment")\n'
            'f(Text("a {0} \\"b\\" "\n  "c", n), Text("{0}: {1}", a, b), Text(Step::ReadAgain));\n'
            'Text reason{"r"};\nText other("o");\nstd::vector<Text> all;\nall.emplace_back("v");\n',
        )
        self.translate(**{'a {0} "b" c': 'ein {0} "b" c', "r": "R", "o": "O", "v": "V"})
        self.assertIn("0 findings in 5 patterns", self.call("messages.py"))

    def test_missing_and_gone(self):
        self.write("engine/a.cpp", 'f(Text("here"));')
        self.translate(gone="weg")
        self.assertEqual(
            self.findings(),
            [
                "engine/a.cpp:1: no translation of 'here'",
                "resources/messages/de.json: nothing in the source code says 'gone'",
            ],
        )

    def test_members_that_a_constructor_initialises(self):
        self.write("engine/a.h", "class A { A(); Text why_; };")
        self.write("engine/a.cpp", 'A::A() : why_("broken") {}')
        self.assertEqual(self.findings(), ["engine/a.cpp:1: no translation of 'broken'"])

    def test_steps_and_labels_of_the_front_ends(self):
        self.write("app/wording.cpp", 'a[] = {{Setting::Budget, "--budget"}, {Step::Restart, "start it again"}};')
        self.write("ui/wording.cpp", 'a[] = {{Setting::Budget, "budget"}};')
        self.assertEqual(
            self.findings(),
            [
                "app/wording.cpp:1: no translation of 'start it again'",
                "ui/wording.cpp:1: no translation of 'budget'",
            ],
        )

    def test_descriptions_of_options(self):
        self.write("app/a.cpp", 'c->add_option("--to", to_, "a " "file")->check(f);\nadd("--from", from_);\n')
        self.write("ui/a.cpp", 'add("a name", "no description");')
        self.assertEqual(self.findings(), ["app/a.cpp:1: no translation of 'a file'"])

    def test_holes(self):
        self.write("kernels/a.cu", 'f(Text("{0} of {1}", a, b), Text("{0} left"));')
        self.translate(**{"{0} of {1}": "{0} von", "{0} left": "noch {0}"})
        self.assertEqual(
            self.findings(),
            [
                "resources/messages/de.json: other holes than in the pattern: '{0} von'",
                "kernels/a.cu:1: 0 values for the holes of '{0} left'",
            ],
        )

    def test_names_of_the_command_and_codes(self):
        text = 'f("give --budget", "see palimpsest sessions list", "PAL-DOC-00", "palimpsest-cache --");'
        self.write("storage/a.cpp", text)
        self.write("app/b.cpp", 'f("--budget");')
        self.write("kernels/base/error_code.cpp", 'f("PAL-DOC-00");')
        self.assertEqual(
            [line.split(":")[2][:21] for line in self.findings()],
            [" names '--budget' of ", " names 'palimpsest se", " an error code in a s"],
        )

    def test_writing_adds_sorted_translations(self):
        self.write("ui/a.cpp", 'f(Text("b"), Text("a"), Text("ü"));')
        self.translate(b="B", gone="weg")
        self.assertEqual(json.loads(self.call("messages.py", "--missing")), {"a": "", "ü": ""})
        self.write("new.json", json.dumps({"a": "A", "ü": ""}))
        self.call("messages.py", "--write", str(self.root / "new.json"))
        self.call("messages.py", "--prune")
        written = (self.root / "resources/messages/de.json").read_text(encoding="utf-8")
        self.assertEqual(written, '{\n    "a": "A",\n    "b": "B"\n}\n')


class ErrorsPage(Tree):
    def setUp(self):
        super().setUp()
        self.write("kernels/base/error.h", "enum class ErrorKind {\n    Failed, // x\n    Usage, // x\n};\n")
        self.write("kernels/base/error_code.cpp", 'a[] = {{ErrorCode::DocumentNotFound, "PAL-DOC-00"}};')
        self.write("app/palimpsest/exit_code.cpp",
                   "case ErrorKind::Failed:\n    return 1;\ncase ErrorKind::Usage:\n    return 2;")
        self.write("app/palimpsest/wording.cpp", 'a[] = {{Setting::Budget, "--budget"}, {Step::Restart, "restart {0}"}};')
        self.write("ui/base/wording.cpp", 'a[] = {{Setting::Budget, "budget"}, {Step::Restart, "begin again"}};')
        table = "| 1 | Failed |\n| 2 | Usage |\n"
        self.write("docs/errors.md", table + "<!-- begin: docs/errors.py -->\nold\n<!-- end -->\n")

    def page(self, text):
        """The rows about PAL-DOC-00 that the page has for a source file, without the column of the code."""
        self.write("engine/a.cpp", text)
        self.call("../../docs/errors.py")
        page = (self.root / "docs/errors.md").read_text(encoding="utf-8")
        rows = page[page.index("|---|---|---|---|\n") : page.index("### Settings")].splitlines()
        return [row.split(" | ", 1)[1] for row in rows[1:] if row]

    def test_values_are_filled_in(self):
        text = 'void f() { throw Error(ErrorKind::Failed, ErrorCode::DocumentNotFound, Text::verbatim(name), ' \
            'Text("{0} of {1} is {2}", n, 5, Setting::Budget), Text(Step::Restart, name)); }'
        self.assertEqual(self.page(text), ["… of 5 is --budget | restart … | `engine/a.cpp` |"])

    def test_what_callers_pass_is_found(self):
        text = """
            [[noreturn]] void refuse(const Text& what, const Text& remedy = Text("give up"))
            {
                throw Error(ErrorKind::Failed, ErrorCode::DocumentNotFound, Text("file"), what, remedy);
            }
            void f(bool big)
            {
                refuse(Text("one"));
                refuse(big ? Text("long") : Text("short"), big ? Text("cut it") : Text("write more"));
            }"""
        rows = ["file: long | cut it", "file: one | give up", "file: short | write more"]
        self.assertEqual(self.page(text), [row + " | `engine/a.cpp` |" for row in rows])

    def test_what_a_constructor_stores_is_found(self):
        text = """
            class Reader {
            public:
                explicit Reader(ErrorCode rule) : rule_(rule) {}
                void fail(const Text& what) { throw Error(ErrorKind::Failed, rule_, Text(), what, Text("stop")); }
                ErrorCode rule_;
            };
            Text reason() { return Text("broken"); }
            void f() { Reader reader(ErrorCode::DocumentNotFound); reader.fail(reason()); }"""
        self.assertEqual(self.page(text), ["broken | stop | `engine/a.cpp` |"])

    def test_a_code_that_cannot_be_seen_is_refused(self):
        self.write("engine/a.cpp", "void f() { throw Error(ErrorKind::Failed, code(), Text(), Text(), Text()); }")
        self.assertIn("engine/a.cpp:1: cannot see which kind and code", self.call("../../docs/errors.py", status=1))

    def test_a_code_that_nothing_reports_is_refused(self):
        self.assertIn("nothing reports PAL-DOC-00", self.call("../../docs/errors.py", status=1))

    def test_the_page_is_compared(self):
        text = 'void f() { throw Error(ErrorKind::Usage, ErrorCode::DocumentNotFound, Text(), Text("a"), Text("b")); }'
        self.page(text)
        self.call("../../docs/errors.py", "--check")
        self.write("engine/a.cpp", text.replace('"a"', '"c"'))
        self.assertIn("run docs/errors.py", self.call("../../docs/errors.py", "--check", status=1))


@unittest.skipIf(shutil.which("git") is None, "needs git")
class Tidy(Tree):
    """With a clang-tidy that finds each line with "bad" in the file and its first header."""

    CLANG_TIDY = """#!/bin/sh
[ "$1" = --version ] && echo "LLVM version 14.0.6" && exit
for last; do :; done
grep -Hn bad "$last" "$(dirname "$last")/a.h" | sed 's/^\\([^:]*:[0-9]*\\):.*/\\1:1: warning: it is bad [some-check]/'
echo "/usr/include/x.h:1:1: warning: of another project [some-check]"
grep -q moc "$last" || exit 0
echo "$last:1:1: error: 'b_test.moc' file not found [clang-diagnostic-error]"
exit 1
"""

    def setUp(self):
        super().setUp()
        self.write("tools/clang-tidy-14", self.CLANG_TIDY)
        (self.root / "tools/clang-tidy-14").chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{self.root / 'tools'}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        for name in ("a", "b", "c"):
            self.write(f"engine/{name}.cpp", '#include "engine/a.h"\n')
        self.write("engine/a.h", "good\n")
        self.write("engine/lonely.h", "good\n")
        self.write("build/pch.hxx", "")
        entries = [
            {"directory": str(self.root), "file": f"engine/{name}.cpp", "command": "c++ -include build/pch.hxx"}
            for name in ("a", "b", "c")
        ]
        self.write("build/compile_commands.json", json.dumps(entries))
        self.write(".gitignore", "build\ntools\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "Begin")

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True)

    def tidy(self, *arguments, status):
        return self.call("tidy.py", "--build", "build", *arguments, status=status)

    def test_only_changed_files_are_checked(self):
        self.write("engine/b.cpp", "good\nbad\n")
        told = self.tidy("--base", "HEAD", status=1)
        self.assertIn("1 C++ and CUDA files differ", told)
        self.assertIn("engine/b.cpp:2: it is bad [some-check]\n", told)
        self.assertIn("1 findings in 1 of 1 source files", told)

    def test_a_header_is_checked_through_a_source_file(self):
        self.write("engine/a.h", "bad\n")
        self.write("engine/lonely.h", "bad\n")
        told = self.tidy("--base", "HEAD", status=1)
        self.assertIn("engine/a.h:1: it is bad [some-check]\n", told)
        self.assertIn("NOT checked, because this build compiles no C++ file with them: 1 files\n  engine/lonely.h", told)

    def test_what_exceeds_a_limit_is_named(self):
        self.write("engine/a.cpp", "1\n")
        self.write("engine/c.cpp", "1\n2\n3\n")
        told = self.tidy("--base", "HEAD", "--most", "1", status=0)
        self.assertIn("NOT checked, because 1 files are the limit: 1 files\n  engine/a.cpp\n", told)
        told = self.tidy("--base", "HEAD", "--seconds", "-1", status=0)
        self.assertIn("NOT checked, because -1 s are the limit: 2 files\n  engine/a.cpp\n  engine/c.cpp\n", told)

    def test_a_source_that_the_build_has_not_generated_is_no_finding(self):
        self.write("engine/b.cpp", "moc\n")
        self.assertIn("0 findings in 1 of 1 source files", self.tidy("--base", "HEAD", status=0))
        self.write("engine/b.cpp", "moc\nbad\n")
        self.assertIn("engine/b.cpp:2: it is bad [some-check]\n", self.tidy("--base", "HEAD", status=1))

    def test_without_a_base_nothing_is_checked(self):
        self.assertIn("skipped", self.tidy(status=77))


if __name__ == "__main__":
    unittest.main()
