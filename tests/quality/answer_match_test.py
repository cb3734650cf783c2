#!/usr/bin/env python3
"""Tests of tests/quality/answer_match.py."""
import unittest

from answer_match import holds, normal_form


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


if __name__ == "__main__":
    unittest.main()
