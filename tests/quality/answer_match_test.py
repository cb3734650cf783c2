#!/usr/bin/env python3
"""Tests of tests/quality/answer_match.py."""
import unittest

from answer_match import declines, holds, normal_form


class AnswerMatch(unittest.TestCase):
    def test_numbers_in_words_are_numbers(self):
        self.assertEqual(normal_form("Nine hundred and eighty-six souls"), ["986", "souls"])
        self.assertEqual(normal_form("twenty-three thousand four hundred and sixty pounds"), ["23460", "pounds"])
        self.assertEqual(normal_form("1,385 pounds"), ["1385", "pounds"])
        self.assertEqual(normal_form("one or two"), ["1", "or", "2"])

    def test_numbers_side_by_side_stay_apart(self):
        self.assertEqual(normal_form("four five"), ["4", "5"])
        self.assertEqual(normal_form("forty fifty"), ["40", "50"])

    def test_the_expected_words_are_found_inside_a_sentence(self):
        self.assertTrue(holds("There were 986 souls in the parish.", "nine hundred and eighty-six souls"))
        self.assertTrue(holds("His name was Uriah Cobb.", "Uriah Cobb"))
        self.assertFalse(holds("His name was Uriah.", "Uriah Cobb"))
        self.assertFalse(holds("There were 98 souls, 6 of them old.", "986"))
        self.assertFalse(holds("", "nine feet"))

    def test_an_answer_declines_if_it_says_that_the_text_does_not_tell(self):
        for answer in ("The text does not name him.", "It isn't in the text.", "The text doesn't have that.", "Unknown.",
                       "His name is not explicitly mentioned in the passage.", "There is no mention of a captain.",
                       "I don't know who it was.", "The author never says who built it.", "This cannot be determined."):
            self.assertTrue(declines(answer), answer)
        for answer in ("He did not tell anyone and hid the gold in the well.", "He never said a word to Mary Ayliffe.",
                       "The harbour could not contain the ships.", "Robert Ayliffe.", "The man was unknown to the town.",
                       "He was not clear of the rocks.", ""):
            self.assertFalse(declines(answer), answer)


if __name__ == "__main__":
    unittest.main()
