#!/usr/bin/env python3
"""The change of the sentence encoder that comes with the program (resources/encoder): damaged, and put there after
documents were encoded without it. Usage: encoder_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess

from patience import PATIENCE, wait_until
from session_harness import FIXTURES, LONG, SMALL, SessionTest, run, text

ENCODER = os.path.join(FIXTURES, "..", "encoder", "bert")


class EncoderTest(SessionTest):
    def setUp(self):
        super().setUp()
        models = os.path.join(self.folder, "palimpsest", "models")
        shutil.copytree(ENCODER, os.path.join(models, "all-MiniLM-L6-v2"))
        self.prefix = os.path.join(self.folder, "installed")
        os.makedirs(os.path.join(self.prefix, "bin"))
        # A program looks for its change in the folders above it.
        self.program = shutil.copy(self.program, os.path.join(self.prefix, "bin", "palimpsest"))

    def encoded(self):
        """The encoder and the embeddings of the one document."""
        rows = self.query("SELECT encoder, passages FROM encoded_documents")
        self.assertEqual(len(rows), 1)
        vectors = self.query("SELECT idx, data FROM passage_vectors ORDER BY idx")
        self.assertGreater(len(vectors), 0)
        self.assertEqual(len(vectors), rows[0][1])
        return (*rows[0], vectors)

    def has_embeddings(self):
        """Whether passages have embeddings. Starts no program and creates nothing."""
        try:
            return self.query("SELECT 1 FROM encoded_documents WHERE passages > 0",
                              database="file:%s?mode=ro" % self.database, uri=True) != []
        except sqlite3.OperationalError:  # it is not there yet
            return False

    def ship(self, encoder, content, folder="."):
        folder = os.path.join(self.prefix, "share", "palimpsest", "encoder", folder)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, encoder + ".safetensors"), "wb") as file:
            file.write(content)

    @staticmethod
    def change():
        """Adds to one vector of the tiny encoder."""
        with open(os.path.join(ENCODER, "config.json")) as file:
            width = json.load(file)["hidden_size"]
        data = struct.pack("<%df" % width, *(0.1 * (i % 7) for i in range(width)))
        header = json.dumps({"encoder.layer.0.output.LayerNorm.bias.add":
                             {"dtype": "F32", "shape": [width], "data_offsets": [0, len(data)]}}).encode()
        return struct.pack("<Q", len(header)) + header + data

    def test_a_damaged_change_leaves_the_words_and_what_is_stored(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.document("find", "Who was the keeper of the light?")
        before = self.encoded()
        self.ship(before[0], b"no change")
        by_words = self.document("find", "Who was the keeper of the light?", "--words")
        found = self.run_command("find", "Who was the keeper of the light?", "--json")
        self.assertIn("passages are found by their words alone", found.stderr.decode())
        self.assertEqual(json.loads(found.stdout)["passages"], by_words["passages"])
        self.run_command("read", self.book, "--session", "two", *SMALL)
        self.assertEqual(self.encoded(), before)

    def scores(self):
        """Of all passages that are found, in the order of the document, and what is said."""
        found = self.run_command("find", "Who was the keeper of the light?", "--tokens", "100000", "--json")
        scores = [passage["score"] for passage in json.loads(found.stdout)["passages"]]
        self.assertGreater(len(scores), 4)
        return scores, found.stderr.decode()

    def test_sentences_are_read_with_the_change_for_it(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        before, _ = self.scores()
        encoded = self.encoded()
        with open(os.path.join(ENCODER, "..", "sentences.safetensors"), "rb") as file:
            self.ship(encoded[0], file.read(), "sentences")
        after, said = self.scores()
        self.assertEqual(said, "")
        self.assertEqual(len(after), len(before))
        self.assertNotEqual(after, before)
        self.assertEqual(self.encoded(), encoded)

    def test_a_damaged_change_for_sentences_leaves_the_search_as_it_is(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        before, _ = self.scores()
        self.ship(self.encoded()[0], b"no change", "sentences")
        after, said = self.scores()
        self.assertEqual(after, before)
        self.assertIn("passages are ranked without reading their sentences", said)
        asked = self.run_command("ask", "--session", "one", "Who was the keeper of the light?", "Who was his brother?",
                                 "--max-tokens", "4")
        self.assertEqual(asked.stderr.decode().count("passages are ranked without reading their sentences"), 1)

    def test_the_encoder_computes_with_the_given_simd_target(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        for target in self.simd_targets():
            answer = self.document("ask", "--session", "one", "Who?", "--max-tokens", "2", "--simd", target)
            self.assertEqual(answer["backend"]["simd"], target)

    def test_a_document_is_encoded_anew_with_the_change(self):
        self.run_command("read", self.book, "--session", "one", *SMALL)
        self.document("find", "Who was the keeper of the light?")
        before = self.encoded()
        self.ship(before[0], self.change())
        self.document("find", "Who was the keeper of the light?")
        after = self.encoded()
        self.assertNotEqual(after[0], before[0])
        self.assertEqual(after[1], before[1])
        self.assertTrue(all(a != b for a, b in zip(after[2], before[2])))

    def test_a_half_read_document_is_read_on_with_the_change(self):
        book = self.file("long.txt", text(LONG, 2))
        reading = self.start("read", book, "--session", "long", "--events", *SMALL, stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: reading.poll() is not None or self.has_embeddings())
            reading.send_signal(signal.SIGINT)
            reading.communicate(timeout=PATIENCE)
        finally:
            reading.kill()
            reading.communicate()
        self.assertEqual(reading.returncode, 130)
        before = self.encoded()
        self.ship(before[0], self.change())
        self.run_command("read", "--session", "long", book)
        self.document("find", "Who was the keeper of the light?")
        after = self.encoded()
        self.assertNotEqual(after[0], before[0])
        self.assertGreater(after[1], before[1])
        # As in a database that never saw the encoder without it.
        os.rename(os.path.dirname(self.database), os.path.join(self.folder, "first"))
        shutil.copytree(os.path.join(self.folder, "first", "models"), os.path.join(self.folder, "palimpsest", "models"))
        self.run_command("read", book, "--session", "long", *SMALL)
        self.document("find", "Who was the keeper of the light?")
        self.assertEqual(self.encoded(), after)


if __name__ == "__main__":
    run("__main__")
