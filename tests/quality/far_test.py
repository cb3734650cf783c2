#!/usr/bin/env python3
"""Tests of tests/quality/far.py and of its facts."""
import json
import random
import re
import unittest
from pathlib import Path

import far
from answer_match import holds
from check_questions import content_words, stem_shared

FACTS = json.loads((Path(__file__).resolve().parent / "far.facts.json").read_text())["facts"]
BOOK = "\n\n".join(f"Paragraph {i} of a book that nobody has written." for i in range(2000)).encode()
DEPTHS = [10 * i for i in range(11)]


class Facts(unittest.TestCase):
    def test_there_are_as_many_facts_at_each_depth(self):
        self.assertGreaterEqual(len(FACTS), 22)
        self.assertEqual(len(FACTS) % 11, 0)

    def test_only_the_evidence_contains_the_answer(self):
        for fact in FACTS:
            with self.subTest(fact["id"]):
                self.assertEqual(fact["paragraph"].count(fact["evidence"]), 1)
                for answer in fact["answers"]:
                    self.assertTrue(holds(fact["evidence"], answer))
                    for text in (*(fact[kind] for kind in far.KINDS), *fact["distractors"]):
                        self.assertFalse(holds(text, answer), text)
                self.assertIn(len(fact["distractors"]), (2, 3))

    def shared(self, fact, kind):
        """The content words that a question shares with the fact's paragraph, names included."""
        asked, told = content_words(fact[kind], set()), content_words(fact["paragraph"], set())
        return {word for word in asked if any(stem_shared(word, other) for other in told)}

    def names(self, fact):
        return {word.lower() for word in re.findall(r"(?<=[a-z,;'-] )[A-Z][a-z]+", fact["paragraph"])}

    def test_what_questions_share_with_the_paragraph(self):
        for fact in FACTS:
            with self.subTest(fact["id"]):
                self.assertEqual(self.shared(fact, "paraphrased"), set())
                self.assertEqual(len(self.shared(fact, "named")), 1)
                self.assertLessEqual(self.shared(fact, "named"), self.names(fact))
                self.assertTrue(self.shared(fact, "direct") & self.names(fact))


class Planting(unittest.TestCase):
    def setUp(self):
        self.text, self.places = far.plant(BOOK, FACTS, DEPTHS, random.Random(1))

    def test_everything_is_planted_once_as_a_paragraph(self):
        paragraphs = self.text.decode().split("\n\n")
        for fact in FACTS:
            for text in (fact["paragraph"], *fact["distractors"]):
                self.assertEqual(paragraphs.count(text), 1, text)
        self.assertEqual(len(paragraphs), 2000 + sum(1 + len(fact["distractors"]) for fact in FACTS))

    def test_facts_are_at_their_depths(self):
        for fact, place in zip(FACTS, self.places):
            begin, end = place.evidence
            self.assertEqual(self.text[begin:end].decode(), fact["evidence"])
            self.assertLess(abs(100 * begin / len(self.text) - place.depth), 3, fact["id"])

    def test_what_covers_the_evidence(self):
        self.assertTrue(far.covers([[0, 10], [10, 30]], (5, 20)))
        self.assertTrue(far.covers([[10, 30], [0, 10]], (5, 20)))
        self.assertFalse(far.covers([[0, 10], [11, 30]], (5, 20)))
        self.assertFalse(far.covers([], (5, 20)))


class Timing(unittest.TestCase):
    def test_a_question_begins_where_the_one_before_it_ends(self):
        events = [(1.0, {"event": "reread"}), (2.0, {"event": "token"}), (3.0, {"event": "token"}),
                  (4.0, {"event": "answer"}), (4.5, {"event": "quote"}),
                  (5.0, {"event": "token"}), (6.0, {"event": "answer"}),  # nothing was found
                  (6.5, {"event": "reread"}), (8.0, {"event": "token"}), (8.5, {"event": "answer"})]
        times = far.times_of(events, 0.0)
        self.assertEqual([(t.found, t.first_token) for t in times], [(1.0, 2.0), (None, 0.5), (0.5, 2.0)])


if __name__ == "__main__":
    unittest.main()
