#!/usr/bin/env python3
"""What bash, zsh and fish make of a command line with the scripts of `palimpsest completions`. bash and zsh run in a
terminal, where a tab completes what is typed; a stand-in for the program then prints the arguments it is given.
Usage: completion_process_test.py PALIMPSEST MODEL_FIXTURES SHELL. Exits with 77 if there is no such shell."""
import os
import pty
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from own_environment import own_environment
from patience import PATIENCE

PROGRAM, FIXTURES, SHELL = sys.argv[1:4]
MODEL = os.path.join(FIXTURES, "llama.f32.gguf")
QUOTED, ACCENTED, OTHER = "Amos's log: \"night\" $5", "Über: Straße", "Amos and Bea"
STAND_IN = """#!/bin/sh
if [ "$1" = completions ]; then exec '{program}' "$@"; fi
printf 'BEGIN'; for argument; do printf '<%s>' "$argument"; done; echo END
"""
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='READ''Y '; bind 'set enable-bracketed-paste off'; . {script}\r"),
    "zsh": (["zsh", "-f", "-i"], "PS1='READ''Y '; unset zle_bracketed_paste; "
                                 "fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D\r"),
}


class Terminal:
    """A shell in a terminal, in `folder`."""

    def __init__(self, environment, folder, script):
        command, start = START[SHELL]
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment, TERM="xterm", COLUMNS="500", LINES="60")
            os.execvp(command[0], command)
        self.shown = b""
        self.type(start.format(script=script, folder=os.path.dirname(script)))
        self.wait_for(b"READY ")

    def type(self, keys):
        os.write(self.file, keys.encode())

    def wait_for(self, mark):
        """Returns what is shown up to the mark, and forgets it."""
        end = time.monotonic() + PATIENCE
        while mark not in self.shown:
            ready, _, _ = select.select([self.file], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{mark} is not shown: {self.shown!r}")
            self.shown += os.read(self.file, 65536)
        before, _, self.shown = self.shown.partition(mark)
        return before

    def close(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.file)


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp(prefix="palimpsest-test-"))
        cls.environment = own_environment(cls.folder)
        cls.environment["LC_ALL"] = "C.UTF-8"
        bin_folder = cls.subfolder("bin")
        cls.environment["PATH"] = bin_folder + ":" + cls.environment["PATH"]
        with open(os.path.join(bin_folder, "palimpsest"), "w") as stand_in:
            stand_in.write(STAND_IN.format(program=PROGRAM))
        os.chmod(stand_in.name, 0o755)
        cls.work = cls.subfolder("work")
        for name in ("my book.epub", "notes.bin", "save.palimpsest"):
            open(os.path.join(cls.work, name), "w").close()
        models = cls.subfolder("palimpsest/models")
        shutil.copy(MODEL, os.path.join(models, "Tiny model.gguf"))
        cls.script = os.path.join(cls.subfolder("script"), "_palimpsest")
        with open(cls.script, "wb") as script:
            script.write(subprocess.run([PROGRAM, "completions", SHELL], capture_output=True, check=True,
                                        env=cls.environment).stdout)
        document = os.path.join(cls.folder, "short.txt")
        with open(document, "w") as out:
            out.write("the sea was calm and the wind came from the west\n")
        for name in (QUOTED, ACCENTED, OTHER):
            subprocess.run([PROGRAM, "read", document, "--session", name, "--model", MODEL, "--budget", "64", "--chunk",
                            "16"], check=True, capture_output=True, env=cls.environment)
        cls.database = os.path.join(cls.folder, "palimpsest/palimpsest.db")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def subfolder(cls, name):
        path = os.path.join(cls.folder, name)
        os.makedirs(path)
        return path

    def complete(self, command, word, **environment):
        """The last argument after a tab at the end of the word, which is written as it is typed; the others are those of
        the command. Nothing else may be printed before."""
        if SHELL == "fish":  # it offers the last word whole, and quotes it itself where it inserts it
            offers = self.offered_by_fish(f"{command} {word}", environment)
            self.assertLessEqual(len(offers), 1)
            return offers[0] if offers else word
        terminal = Terminal({**self.environment, **environment}, self.work, self.script)
        try:
            terminal.type(f"{command} {word}\t\r")
            self.assertNotIn(b"palimpsest: ", terminal.wait_for(b"BEGIN"))
            arguments = terminal.wait_for(b"END").decode()[1:-1].split("><")
        finally:
            terminal.close()
        self.assertEqual(arguments[:-1], command.split()[1:])
        return arguments[-1]

    def offered_by_fish(self, line, environment):
        run = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", self.script, line],
                             capture_output=True, cwd=self.work, env={**self.environment, **environment})
        self.assertEqual((run.returncode, run.stderr.decode()), (0, ""))
        return [offer.split("\t")[0] for offer in run.stdout.decode().splitlines()]

    def assert_completed(self, command, word, expected, **environment):
        self.assertEqual(self.complete("palimpsest " + command if command else "palimpsest", word, **environment),
                         expected)

    def test_subcommands(self):
        self.assert_completed("", "sess", "sessions")
        self.assert_completed("sessions", "verif", "verify")

    def test_options_of_a_subcommand(self):
        self.assert_completed("ask", "--kv", "--kv-type")
        self.assert_completed("sessions list", "--js", "--json")
        self.assert_completed("sessions list", "--kv", "--kv")

    def test_values_of_an_option(self):
        self.assert_completed("ask --kv-type", "bf", "bf16")
        self.assert_completed("ask", "--kv-type=bf", "--kv-type=bf16")
        self.assert_completed("ask --reread", "alw", "always")
        self.assert_completed("ask --device", "aut", "auto")
        self.assert_completed("ask --policy", "snap", "snapkv")
        self.assert_completed("policies show", "snap", "snapkv")
        self.assert_completed("compare --policies", "treekv,snap", "treekv,snapkv")

    def test_sessions_with_spaces_quotes_colons_and_other_letters(self):
        self.assert_completed("sessions show", "Amos\\'", QUOTED)
        self.assert_completed("sessions show", "Amos\\ a", OTHER)
        self.assert_completed("sessions show", "\"Amos's l", QUOTED)
        self.assert_completed("sessions show", "'Amos a", OTHER)
        self.assert_completed("sessions show", "Ü", ACCENTED)
        self.assert_completed("ask --session", "Über:", ACCENTED)
        self.assert_completed("ask --session", "'Über: ", ACCENTED)
        self.assert_completed("ask", "--session=Ü", "--session=" + ACCENTED)

    def test_stored_documents(self):
        copy = os.path.join(self.subfolder("documents"), "documents.db")
        shutil.copy(self.database, copy)
        books = []
        for folder, name in (("a", "The log: Amos.txt"), ("a", "Tides.txt"), ("b", "Tides.txt")):
            os.makedirs(os.path.join(self.folder, "books", folder), exist_ok=True)
            books.append(os.path.join(self.folder, "books", folder, name))
            with open(books[-1], "w") as out:
                out.write(f"what {folder} wrote of {name}\n")
        environment = {**self.environment, "PALIMPSEST_DB": copy, "PALIMPSEST_MODEL": MODEL}
        subprocess.run([PROGRAM, "library", "add", "--model", MODEL, *books], check=True, capture_output=True, env=environment)
        names = subprocess.run([PROGRAM, "completions", "--names", "documents"], capture_output=True, check=True,
                               env=environment).stdout.decode()
        self.assertEqual(names, "4\tTides\n3\tTides\nThe log: Amos\t\nshort\t\n")
        for command in ("library show", "library export", "library rm short", "read --session new --document"):
            self.assert_completed(command, "'The l", "The log: Amos", PALIMPSEST_DB=copy)

    def test_models(self):
        self.assert_completed("models show", "Tin", "Tiny model")
        self.assert_completed("ask --model", "Tin", "Tiny model")

    def test_files_have_the_right_endings(self):
        self.assert_completed("ask", "m", "my book.epub")
        self.assert_completed("read --notes", "m", "my book.epub")
        self.assert_completed("tokenize", "", "my book.epub")
        self.assert_completed("chat", "s", "save.palimpsest")
        self.assert_completed("sessions import", "s", "save.palimpsest")

    def test_a_new_name_is_not_completed(self):
        self.assert_completed("sessions rename x", "Amo", "Amo")

    def names(self, database):
        return subprocess.run([PROGRAM, "completions", "--names", "sessions"], capture_output=True, timeout=PATIENCE,
                              env={**self.environment, "PALIMPSEST_DB": database})

    def test_without_a_database_none_is_made_and_nothing_is_printed(self):
        empty = self.subfolder("empty")
        database = os.path.join(empty, "none.db")
        names = self.names(database)
        self.assertEqual((names.returncode, names.stdout, names.stderr), (0, b"", b""))
        self.assert_completed("sessions show", "Amo", "Amo", PALIMPSEST_DB=database)
        self.assertEqual(os.listdir(empty), [])

    def test_a_database_that_another_program_holds_offers_nothing(self):
        copy = os.path.join(self.subfolder("locked"), "locked.db")
        shutil.copy(self.database, copy)
        owner = sqlite3.connect(copy, isolation_level=None)
        owner.execute("PRAGMA journal_mode = DELETE")
        self.assertIn(OTHER, self.names(copy).stdout.decode())
        owner.execute("BEGIN EXCLUSIVE")
        names = self.names(copy)
        owner.close()
        self.assertEqual((names.returncode, names.stdout, names.stderr), (0, b"", b""))

    def test_names_that_a_terminal_does_not_show_are_not_offered(self):
        copy = os.path.join(self.subfolder("hidden"), "hidden.db")
        shutil.copy(self.database, copy)
        owner = sqlite3.connect(copy, isolation_level=None)
        owner.execute("UPDATE sessions SET name = 'Amos' || char(27) || '[2J' WHERE name = ?", [OTHER])
        owner.execute("UPDATE sessions SET name = 'Amos' || char(10) WHERE name = ?", [ACCENTED])
        owner.close()
        names = self.names(copy).stdout.decode()
        self.assertEqual([line.split("\t")[0] for line in names.splitlines()], [QUOTED])

    def test_damaged_files_print_no_error_at_the_prompt(self):
        damaged = self.subfolder("damaged/palimpsest")
        for name in ("palimpsest.db", "config.json"):
            with open(os.path.join(damaged, name), "w") as out:
                out.write("neither of the two" * 1000)
        for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            self.assert_completed("sessions show", "Amo", "Amo", **{variable: os.path.dirname(damaged)})


if __name__ == "__main__":
    if not shutil.which(SHELL):
        print(f"{SHELL} is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
