#!/usr/bin/env python3
"""Notes on the sections of a document, and summaries made of them.
Usage: notes_process_test.py PALIMPSEST MODEL_FIXTURES"""
import os

from session_harness import SMALL, SessionTest, run, text


class NotesTest(SessionTest):
    def test_a_summary_of_more_than_the_budget_is_made_of_notes_on_all_of_it(self):
        chapters = ["CHAPTER %d\n\n%s\n" % (i + 1, text(600, 50 + i)) for i in range(4)]
        book = self.file("chapters.txt", "".join(chapters))
        made = self.document("summarize", book, *SMALL, "--max-tokens", "20")
        self.assertEqual(made["outline"][0]["tokens"][0], 0)
        self.assertEqual(made["outline"][-1]["tokens"][1], made["coverage"]["tokens_read"])
        for before, after in zip(made["outline"], made["outline"][1:]):
            self.assertEqual(before["tokens"][1], after["tokens"][0])
        self.assertEqual({n["section"] for n in made["outline"]}, {"CHAPTER %d" % (i + 1) for i in range(4)})
        content = "".join(chapters)
        for note in made["outline"]:
            self.assertEqual((note["origin"], note["title"]), ("quoted", "chapters"))  # the model's weights are random
            stretch = " ".join(content[slice(*note["bytes"])].split())
            for part in note["text"].split("..."):
                self.assertIn(part.strip(), stretch)
        self.assertTrue(any(note["refused"] for note in made["outline"]))
        self.assertEqual(made["notes"]["count"], len(made["outline"]))
        self.assertEqual(made["answers"][0]["origin"], "quoted")
        self.assertGreater(made["answers"][0]["levels"], 0)
        self.assertNotIn("bytes_written", made)  # nothing is saved
        self.assertFalse(os.path.exists(self.database))
        shown = self.run_command("summarize", book, *SMALL, "--max-tokens", "20", "--outline")
        for note in made["outline"]:
            self.assertIn(("    quoted: " + note["text"]).encode(), shown.stdout)
        self.assertRegex(shown.stderr.decode(), r"notes: +%d notes, of which" % len(made["outline"]))
        plain = self.document("summarize", book, *SMALL, "--max-tokens", "20", "--no-notes")
        self.assertNotIn("outline", plain)

    def test_notes_are_kept_with_the_session_and_summarized_without_the_file(self):
        book = self.file("book.txt", text(2400, 3))
        said = self.document("read", book, "--session", "s", "--notes", *SMALL)["notes"]
        self.assertGreater(said["count"], 1)
        self.assertGreater(said["tokens"], 0)
        os.remove(book)
        first = self.document("summarize", "--session", "s", "--max-tokens", "20")
        self.assertEqual(first["notes"]["count"], said["count"])
        self.assertEqual(first["documents"], [book])
        again = self.document("summarize", "--session", "s", "--max-tokens", "20")
        self.assertEqual((again["answers"], again["outline"], again["bytes_written"]),
                         (first["answers"], first["outline"], 0))
        self.run_command("sessions", "fork", "s", "other")
        self.assertEqual(self.document("summarize", "--session", "other", "--max-tokens", "20")["outline"], first["outline"])

    def test_a_short_document_is_summarized_without_notes_unless_they_are_wanted(self):
        book = self.file("book.txt", "The keeper lit the lamp.\n")
        self.assertNotIn("outline", self.document("summarize", book, *SMALL, "--max-tokens", "4"))
        self.assertEqual(len(self.document("summarize", book, *SMALL, "--max-tokens", "4", "--notes")["outline"]), 1)

    def test_what_cannot_be_summarized_is_said(self):
        self.fails(2, "PAL-OPTION-01", "summarize", *SMALL)
        self.fails(2, "PAL-OPTION-01", "summarize", "--session", "new", *SMALL)
        book = self.file("book.txt", text(60, 3))
        for refused in (["--notes", "--no-notes"], ["--outline", "--no-notes"], ["--notes", "--question-last"],
                        ["--outline", "--question-last"]):
            self.fails(2, "PAL-OPTION-01", "summarize", book, *SMALL, *refused)


if __name__ == "__main__":
    run("__main__")
