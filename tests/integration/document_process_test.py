#!/usr/bin/env python3
"""Documents in formats that a reader process parses: what is read from them, and what hostile ones can do.
Usage: document_process_test.py PALIMPSEST MODEL_FIXTURES"""
import json
import os
import re
import resource
import signal
import subprocess
import threading
import unittest
import zipfile

from document_files import (CONTAINER, changed_directory, docx, epub, odt, overlapping, package, pdf, pdf_of_form,
                            pdf_of_tables, xhtml, zipped)
from patience import PATIENCE, wait_until
from reader_frames import Read, reader_of
from session_harness import AT_CI_LEVEL, PROGRAM, SMALL, SessionTest, Terminal, run

READER = reader_of(PROGRAM)
HAS_PDF = b"PDF: yes" in subprocess.run([READER, "--show-sandbox"], stdout=subprocess.PIPE).stdout


class DocumentTest(SessionTest):
    def put(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name, content):
        return Read(READER, self.put(name, content))

    def refused(self, name, content, code, words):
        """One sentence, exit 1, nothing stored."""
        path = os.path.join(self.folder, name) if content is None else self.put(name, content)
        sentence = self.fails(1, code, "read", path, "--session", "one", *SMALL)
        self.assertIn(words, sentence)
        self.assertLess(len(sentence), 500)
        if os.path.exists(self.database):
            self.assertEqual(self.query("SELECT count(*) FROM sessions"), [(0,)])
            self.assertEqual(self.query("SELECT count(*) FROM documents"), [(0,)])

    def test_documents_are_opened_by_one_reader_after_the_other(self):
        names = [self.put("page %d.html" % i, "<title>Page %d</title><body><p>the sea was calm %d</p></body>" % (i, 1000 + i))
                 for i in range(60)]

        def limit():  # enough for the files, but not for a pipe from a reader of each
            resource.setrlimit(resource.RLIMIT_NOFILE, (110, 110))

        process = self.start("summarize", *names, "--no-notes", "--max-tokens", "2", "--pin", "calm 1059", "--json", *SMALL,
                             preexec_fn=limit)
        printed, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(len(json.loads(printed)["pins"]["ranges"]), 1)

    # -- EPUB ----------------------------------------------------------------------------------------------------------

    def test_an_epub_is_read_in_the_order_of_its_spine(self):
        book = self.read("book.epub", epub({
            "b.xhtml": "<h1>One</h1><p>First&nbsp;words<br/>and more.</p>", "a.xhtml": "<h2>Two</h2><p>Then &lt;this&gt;.</p>"}))
        self.assertEqual(book.text, "One\n\nFirst\u00a0words\nand more.\n\nTwo\n\nThen <this>.")
        self.assertEqual(book.sections, [(1, "One", 0), (2, "Two", 29)])
        self.assertEqual(book.facts, {0: "The Salt Road", 1: "Ada Brennan, Li Wei", 2: "en"})
        self.assertEqual(book.notes, 0)

    def test_sections_come_from_the_table_of_contents(self):
        chapters = {"a.xhtml": "<p>aa</p><p id='x'>bb</p>", "b c.xhtml": "<h3>Big</h3><p>cc</p>", "toc.xhtml": "<p>no</p>"}
        nav = {"OEBPS/text/toc.xhtml": xhtml(
            "<nav epub:type='landmarks'><a href='a.xhtml'>Wrong</a></nav><nav epub:type='toc'><ol><li><a href='a.xhtml'>"
            "Part A</a><ol><li><a href='./a.xhtml#x'>Inner</a></li></ol></li><li><a href='b%20c.xhtml'>Other</a></li></ol>"
            "</nav>")}
        opf = package(chapters).replace('href="text/toc.xhtml"', 'properties="nav" href="text/toc.xhtml"')
        book = self.read("nav.epub", epub(chapters, {**nav, "OEBPS/book.opf": opf}))
        self.assertEqual(book.sections, [(1, "Part A", 0), (2, "Inner", 4), (1, "Big", 8)])
        self.assertEqual(book.text, "aa\n\nbb\n\nBig\n\ncc")
        ncx = ('<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx>'
               '<navMap><navPoint><navLabel><text>Part N</text></navLabel><content src="text/a.xhtml"/><navPoint><navLabel>'
               '<text>Deep</text></navLabel><content src="text/a.xhtml#x"/></navPoint></navPoint></navMap></ncx>')
        old = self.read("old.epub", epub(
            {"a.xhtml": chapters["a.xhtml"]}, {"OEBPS/toc.ncx": ncx},
            extra='<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'))
        self.assertEqual(old.sections, [(1, "Part N", 0), (2, "Deep", 4)])

    def test_a_page_with_the_table_of_contents_is_no_text(self):
        links = "<h1>The Salt Road</h1><p>Contents</p><ol><li><a href='a.xhtml'>A part of the book, and all of it</a></li></ol>"
        guide = '</spine><guide><reference type="toc" title="Contents" href="text/%s"/></guide>'
        for body, expected in ((links, "aa"), (links + "<p>A preface that is longer than the table of contents.</p>",
                                               "The Salt Road\n\nContents\n\n1. A part of the book, and all of it\n\nA preface that is longer "
                                               "than the table of contents.\n\naa")):
            chapters = {"toc.xhtml": body, "a.xhtml": "<p>aa</p>"}
            opf = package(chapters).replace("</spine>", guide % "toc.xhtml#top")
            self.assertEqual(self.read("toc.epub", epub(chapters, {"OEBPS/book.opf": opf})).text, expected)
        opf = package(chapters).replace("</spine>", guide % "a.xhtml")  # which has no links
        self.assertIn("aa", self.read("text.epub", epub(chapters, {"OEBPS/book.opf": opf})).text)

    def test_a_damaged_table_of_contents_spoils_no_book(self):
        book = self.read("damaged.epub", epub({"a.xhtml": "<h1>T</h1><p>a</p>"}, {"OEBPS/toc.ncx": "<ncx><navMap>"},
                                              extra='<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'))
        self.assertEqual((book.text, book.sections, book.notes), ("T\n\na", [(1, "T", 0)], 1))

    def test_what_is_missing_in_an_epub_is_said(self):
        book = self.put("book.epub", epub({"a.xhtml": "<p>a</p>", "b.xhtml": "<p>b</p>"},
                                          {"OEBPS/book.opf": package(["a.xhtml", "gone.xhtml", "b.xhtml"])}))
        said = self.run_command("read", book, "--session", "one", *SMALL).stderr.decode()
        self.assertRegex(said, "parts of the book that are missing .*: 1 of 3")
        self.assertEqual(Read(READER, book).text, "a\n\nb")

    def test_a_protected_epub_is_said_to_be_one(self):
        encryption = ('<encryption><EncryptedData><EncryptionMethod Algorithm="%s"/><CipherData><CipherReference URI="'
                      'OEBPS/text/a.xhtml"/></CipherData></EncryptedData></encryption>')
        chapters = {"a.xhtml": "<p>a</p>"}
        aes = {"META-INF/encryption.xml": encryption % "http://www.w3.org/2001/04/xmlenc#aes128-cbc"}
        self.refused("drm.epub", epub(chapters, aes), "PAL-DOC-09", "DRM")
        font = {"META-INF/encryption.xml": encryption % "http://www.idpf.org/2008/embedding#obfuscation"}
        self.assertEqual(self.read("font.epub", epub(chapters, font)).text, "a")

    # -- PDF -----------------------------------------------------------------------------------------------------------

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_a_pdf_has_paragraphs_sections_and_pages(self):
        line = "A line of this book is just as long as all of its other lines are, page %s, or nearly, and it goes"
        pages = [[(50, 30, "The Salt Road %d" % (i + 1)), (50, 150, line % "abcde"[i]), (50, 162, line % "abcde"[i]),
                  (50, 174, "on to the end.")] for i in range(5)]
        pages[1].insert(1, (50, 125, "2 The Harbour"))
        book = self.read("book.pdf", pdf(pages, [("The Harbour", 1), ("Unseen", 3)], "0 << /S /r >> 2 << /S /D >>"))
        paragraph = "%s %s on to the end."
        paragraphs = [paragraph % (line % letter, line % letter) for letter in "abcde"]
        self.assertEqual(book.text.split("\n\n"), [paragraphs[0], "2 The Harbour", *paragraphs[1:]])
        self.assertEqual([s[:2] for s in book.sections], [(1, "2 The Harbour"), (1, "Unseen")])
        begins = [book.text.encode()[s[2]:].decode() for s in book.sections]
        self.assertTrue(begins[0].startswith("2 The Harbour"))
        self.assertTrue(begins[1].startswith(line % "d"), begins[1][:100])
        self.assertEqual(book.pages, ["i", "ii", "1", "2", "3"])
        self.assertEqual(book.facts, {0: "The Salt Road", 1: "Ada Brennan"})

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_a_divided_word_is_joined(self):
        line = "A line of this book is just as long as all of its other lines are, this one or nearly %s-"
        pages = [[(50, 150, line % "exam"), (50, 162, "ple goes on."), (50, 200, line % "the AMC"), (50, 212, "TXT too.")]]
        text = self.read("divided.pdf", pdf(pages)).text
        self.assertEqual(text, (line % "exam")[:-1] + "ple goes on.\n\n" + line % "the AMC" + "TXT too.")

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_pages_without_text_are_named(self):
        path = self.put("part.pdf", pdf([[(50, 100, "The keeper wrote.")], [], []]))
        said = self.run_command("read", path, "--session", "one", *SMALL).stderr.decode()
        self.assertIn("2 of 3 pages have no text, and may be pictures: 2, 3", said)
        for again in (["library", "add", path], ["read", path, "--session", "two"], ["read", "--document", "1", "--session", "three"]):
            said = self.run_command(*again, *(SMALL[:2] if again[0] == "library" else SMALL)).stderr.decode()
            self.assertEqual(said.count("2 of 3 pages have no text, and may be pictures: 2, 3"), 1, again)
        cover = self.put("cover.pdf", pdf([[], [(50, 100, "The keeper wrote.")]]))
        said = self.run_command("read", cover, "--session", "cover", *SMALL).stderr.decode()
        self.assertIn("page 1 of 2 has no text, and may be a picture", said)
        book = Read(READER, path)
        self.assertEqual((book.text, book.pages), ("The keeper wrote.", ["1", "2", "3"]))
        for result in (self.document("read", path, "--session", "one", *SMALL), self.document("inspect", path, *SMALL),
                       self.document("inspect", "--session", "one")):
            self.assertEqual(result["coverage"]["pages_without_text"], ["2", "3"])

    def test_what_could_not_be_read_is_told_again(self):
        path = self.put("old.txt", "The caf\u00e9 of the keeper.".encode("latin-1"))
        said = self.run_command("read", path, "--session", "zero", *SMALL).stderr.decode()
        note = re.search("the text was taken for .* and converted", said).group()
        for command in (["read", path, "--session", "one", *SMALL], ["library", "add", path, *SMALL[:2]],
                        ["read", path, "--session", "two", *SMALL], ["read", "--document", "old", "--session", "three", *SMALL]):
            self.assertEqual(self.run_command(*command).stderr.decode().count(note), 1, command)
        other = os.path.join(os.path.dirname(SMALL[1]), "llama3-scaled.f16.gguf")  # for which the text is stored once more
        self.run_command("read", "--document", "1", "--session", "four", "--model", other, *SMALL[2:])
        self.assertEqual(self.query("SELECT count(*) FROM document_blocks WHERE kind = 4"), [(2,)])
        self.assertEqual(self.document("library", "show", "1")["notes"], [note])
        self.assertIn("note      " + note + "\n", self.run_command("library", "show", "1").stdout.decode())
        self.assertEqual(self.document("library", "show", "2")["notes"], [note])
        self.run_command("library", "add", self.book, *SMALL[:2])
        self.assertEqual(self.document("library", "show", "book")["notes"], [])

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_scanned_protected_and_damaged_pdfs_are_said_to_be_so(self):
        self.refused("scan.pdf", pdf([[], []]), "PAL-DOC-02", "it has no text on any of its pages (2)")
        stamp = [(50, 780, "Digitised by the library of the harbour")]
        self.refused("stamped.pdf", pdf([stamp] * 5), "PAL-DOC-02", "it has no text on any of its pages (5)")
        lock = "/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >> /ID [<00> <00>]" % ("41" * 32, "42" * 32)
        self.refused("locked.pdf", pdf([[(50, 100, "a")]], extra_trailer=lock), "PAL-DOC-09", "password")
        self.refused("damaged.pdf", b"%PDF-1.7\n", "PAL-DOC-10", "damaged")
        self.refused("hidden.txt", b"%PDF-1.7\n", "PAL-DOC-10", "damaged")
        self.refused("headless.pdf", b"no header", "PAL-DOC-10", "damaged")
        self.assertEqual(self.read("about.html", "<html><p>%PDF-1.7 is a format").text, "%PDF-1.7 is a format")
        some = self.put("some.pdf", pdf([stamp] * 4 + [[(50, 100, "The keeper wrote."), *stamp]]))
        said = self.run_command("library", "add", some, *SMALL[:2]).stderr.decode()
        self.assertIn("4 of 5 pages have no text, and may be pictures: 1, 2, 3, 4", said)

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_hostile_pdfs_end(self):
        page = [(50, 100, "The keeper wrote.")]
        hostile = {
            "form": pdf_of_form("5"),
            "object": pdf_of_form("90 0 R"),
            "tables": pdf_of_tables(10000),
            "prev": pdf([page], extra_trailer="/Prev 9"),
            "count": pdf([page], raw_objects=[(2, "<< /Type /Pages /Count 2000000000 /Kids [ 10 0 R ] >>")]),
        }
        good = pdf([page] * 3)
        hostile.update({"cut %d" % n: good[:n] for n in range(20, len(good), 211)})
        hostile.update({"changed %d" % i: good[:i] + bytes([good[i] ^ 0x11]) + good[i + 1:] for i in range(9, len(good), 173)})
        for name, content in hostile.items():
            with self.subTest(name):
                try:
                    self.assertLess(len(self.read("x.pdf", content).text), 10000)
                except ValueError as problem:  # a sentence
                    self.assertRegex(problem.args[0], rb"[a-z]{3} [a-z]+")

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_a_pdf_that_the_library_cannot_bear_costs_one_sentence(self):
        """What the library does with these depends on its version: it may read them, stop or never end."""
        page = [(50, 100, "The keeper wrote.")]
        outline = [(4, "<< /First 12 0 R /Last 12 0 R >>"), (12, "<< /Title (a) /First 12 0 R /Next 12 0 R /Dest [10 0 R /Fit] >>")]
        files = {"outline.pdf": pdf([page], [("a", 0)], raw_objects=outline)}
        if not AT_CI_LEVEL:  # takes 20 seconds
            tree = [(2, "<< /Type /Pages /Count 100000 /Kids [ 2 0 R 10 0 R 2 0 R ] >>")]
            files["tree.pdf"] = pdf([page], raw_objects=tree)
        for name, content in files.items():
            with self.subTest(name):
                result = subprocess.run([PROGRAM, "read", self.put(name, content), "--session", name, *SMALL],
                                        capture_output=True, timeout=PATIENCE, env=self.environment)
                if result.returncode != 0:
                    self.assertEqual(result.returncode, 1)
                    said = [line for line in result.stderr.decode().splitlines() if line.startswith("palimpsest: ")]
                    self.assertEqual(len(said), 1, said)
                    self.assertRegex(said[0], r"\[PAL-DOC-(08|10|11)\]$")

    # -- word processors -----------------------------------------------------------------------------------------------

    def test_a_word_document_keeps_its_structure(self):
        styles = ('<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/>'
                  '</w:style><w:style w:type="paragraph" w:styleId="Own"><w:basedOn w:val="berschrift1"/></w:style></w:styles>')
        notes = '<w:footnotes xmlns:w="w"><w:footnote w:id="7"><w:p><w:r><w:t>See vol. 2.</w:t></w:r></w:p></w:footnote></w:footnotes>'
        body = ('<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr><w:r><w:t>The Harbour</w:t></w:r></w:p>'
                '<w:p><w:r><w:t xml:space="preserve">It lay </w:t></w:r><w:del><w:r><w:delText>never </w:delText></w:r></w:del>'
                '<w:ins><w:r><w:t>open</w:t></w:r></w:ins><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r>'
                '<w:footnoteReference w:id="7"/><w:br/><w:t>to the north.</w:t></w:r></w:p>'
                '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Ship</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Tons</w:t></w:r></w:p>'
                '</w:tc></w:tr></w:tbl>')
        book = self.read("book.docx", docx(body, {"word/styles.xml": styles, "word/footnotes.xml": notes}))
        self.assertEqual(book.text, "The Harbour\n\nIt lay open[1]\nto the north.\n\n[1] See vol. 2.\n\nShip | Tons")
        self.assertEqual(book.sections, [(1, "The Harbour", 0)])

    def test_the_parts_of_a_word_document_may_have_any_names(self):
        relations = ('<Relationships>%s</Relationships>' % "".join(
            '<Relationship Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>' % part
            for part in (("styles", "./x/../styles2.xml"), ("footnotes", "/word/notes9.xml"))))
        styles = '<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="X"><w:name w:val="heading 2"/></w:style></w:styles>'
        notes = '<w:footnotes xmlns:w="w"><w:footnote w:id="1"><w:p><w:r><w:t>See</w:t><w:br/><w:t>vol.</w:t></w:r></w:p></w:footnote></w:footnotes>'
        body = ('<w:p><w:pPr><w:pStyle w:val="X"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p><w:p><w:r><w:t>a</w:t>'
                '<w:footnoteReference w:id="1"/></w:r></w:p>')
        book = self.read("any.docx", docx(body, {"word/_rels/document.xml.rels": relations, "word/styles2.xml": styles,
                                                 "word/notes9.xml": notes, "docProps/core.xml": "<damaged>"}))
        self.assertEqual(book.text, "T\n\na[1]\n\n[1] See vol.")
        self.assertEqual(book.sections, [(2, "T", 0)])

    def test_a_table_in_a_table_is_part_of_its_cell(self):
        cell = "<w:tc>%s</w:tc>"
        word = "<w:p><w:r><w:t>%s</w:t></w:r></w:p>"
        inner = "<w:tbl><w:tr>%s</w:tr></w:tbl>" % "".join(cell % (word % text) for text in ("n1", "n2"))
        body = "<w:tbl><w:tr>%s</w:tr></w:tbl>" % (cell % (word % "A" + inner + word % "tail") + cell % (word % "B"))
        self.assertEqual(self.read("nested.docx", docx(body)).text, "A n1 | n2 tail | B")

    def test_merged_cells_have_rows_to_be_merged_with(self):
        cell = '<w:tc><w:tcPr>%s</w:tcPr><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:tc>'
        row = "<w:tr>%s</w:tr>"
        rest = cell % ('<w:vMerge w:val="continue"/>', "")
        first = row % (cell % ('<w:vMerge w:val="restart"/>', "a") + rest + cell % ("", "b") + rest)
        body = "<w:tbl><w:tblPr/>%s%s</w:tbl>" % (first, row % (rest + cell % ("", "c")))
        self.assertEqual(self.read("merged.docx", docx(body)).text, "a | b\n | c")

    def test_a_text_box_follows_its_paragraph(self):
        word = "<w:p><w:r>%s</w:r></w:p>"
        box = "<w:txbxContent>%s</w:txbxContent>"
        inner = box % (word % "<w:t>c</w:t>")
        table = "<w:tbl><w:tr>%s</w:tr></w:tbl>" % "".join("<w:tc>%s</w:tc>" % (word % text) for text in ("<w:t>d</w:t>", "<w:t>e</w:t>"))
        body = word % (box % (word % (inner + "<w:t>b</w:t>") + table) + "<w:t>a</w:t>") + word % "<w:t>f</w:t>"
        self.assertEqual(self.read("box.docx", docx(body)).text, "a\n\nb\n\nd | e\n\nc\n\nf")
        frame = '<draw:frame xmlns:draw="d"><draw:text-box>%s</draw:text-box></draw:frame>'
        self.assertEqual(self.read("box.odt", odt("<t:p>%sa</t:p><t:p>d</t:p>" % (
            frame % ("<t:p>b%s</t:p>" % (frame % "<t:p>c</t:p>"))))).text, "a\n\nb\n\nc\n\nd")

    def test_text_that_a_style_of_word_hides_is_left_out(self):
        style = '<w:style w:type="%s" w:styleId="%s">%s<w:rPr>%s</w:rPr></w:style>'
        styles = '<w:styles xmlns:w="w">%s</w:styles>' % "".join(style % of for of in (
            ("paragraph", "Draft", "", "<w:vanish/>"), ("character", "Secret", "", '<w:vanish w:val="1"/>'),
            ("character", "Own", '<w:basedOn w:val="Secret"/>', ""), ("character", "Shown", "", '<w:vanish w:val="0"/>')))
        run = '<w:r><w:rPr>%s</w:rPr><w:t>%s</w:t></w:r>'
        of_style = '<w:rStyle w:val="%s"/>'
        body = ("<w:p>%s%s%s</w:p>" % (run % ("", "a"), run % (of_style % "Own", "hidden"), run % ("<w:vanish/>", "hidden"))
                + '<w:p><w:pPr><w:pStyle w:val="Draft"/></w:pPr>%s%s</w:p>' % (run % ("", "hidden"), run % (of_style % "Shown", "b")))
        self.assertEqual(self.read("hidden.docx", docx(body, {"word/styles.xml": styles})).text, "a\n\nb")

    def test_numbered_styles_of_lists_are_levels(self):
        style = ('<w:style w:type="paragraph" w:styleId="L%d"><w:name w:val="List Bullet%s"/><w:pPr><w:numPr><w:numId w:val="%d"/>'
                 '</w:numPr></w:pPr></w:style>')
        styles = '<w:styles xmlns:w="w">%s</w:styles>' % "".join(style % (n, " %d" % n if n > 1 else "", n) for n in (1, 2, 3))
        body = "".join('<w:p><w:pPr><w:pStyle w:val="L%d"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>' % item
                       for item in ((1, "a"), (2, "b"), (3, "c"), (1, "d")))
        self.assertEqual(self.read("list.docx", docx(body, {"word/styles.xml": styles})).text, "- a\n  - b\n    - c\n- d")

    def test_hidden_text_of_an_opendocument_is_left_out(self):
        named = ('<o:document-styles xmlns:o="o" xmlns:s="s" xmlns:t="t"><o:styles>'
                 '<s:style s:family="text" s:name="Secret"><s:text-properties t:display="none"/></s:style>'
                 '<s:style s:family="text" s:name="Inner" s:parent-style-name="Secret"/>'
                 '<s:style s:family="text" s:name="Shown"><s:text-properties t:display="true"/></s:style>'
                 '<s:style s:family="paragraph" s:name="Inner"/>'
                 '<s:style s:family="paragraph" s:name="Draft"><s:text-properties t:display="none"/></s:style>'
                 '<s:style s:family="text" s:name="Round" s:parent-style-name="Round"/></o:styles></o:document-styles>')
        span = '<t:span t:style-name="%s">%s</t:span>'
        body = ('<t:p t:style-name="Inner">One %stwo.</t:p>' % (span % ("Inner", "hid<t:s/>den<t:tab/>%s" % span % ("Round", "x")))
                + '<t:p t:style-name="Draft">hidden %s</t:p>' % (span % ("Shown", "Shown."))
                + '<t:section t:display="none"><t:p>hidden</t:p></t:section>'
                '<t:p>a<t:hidden-text t:is-hidden="true">hidden</t:hidden-text>b</t:p>'
                '<t:p>hidden<t:hidden-paragraph t:is-hidden="true"/></t:p>')
        self.assertEqual(self.read("hidden.odt", odt(body, {"styles.xml": named})).text, "One two.\n\nShown.\n\nab")

    def test_preformatted_paragraphs_are_lines(self):
        named = ('<o:document-styles xmlns:o="o" xmlns:s="s"><o:styles><s:style s:family="paragraph" s:name="Mine" '
                 's:parent-style-name="Preformatted_20_Text"/></o:styles></o:document-styles>')
        body = '<t:p>a</t:p><t:p t:style-name="Mine">if b:</t:p><t:p t:style-name="Mine"><t:s t:c="4"/>c</t:p><t:p>d</t:p>'
        self.assertEqual(self.read("code.odt", odt(body, {"styles.xml": named})).text, "a\n\nif b:\n    c\n\nd")

    def test_an_opendocument_text_keeps_its_structure(self):
        body = ('<t:tracked-changes><t:changed-region><t:deletion><t:p>never</t:p></t:deletion></t:changed-region>'
                '</t:tracked-changes><t:h t:outline-level="2">The  Harbour</t:h><t:p>It<t:s t:c="2"/>lay\n open<t:note>'
                '<t:note-citation>1</t:note-citation><t:note-body><t:p>See vol. 2.</t:p></t:note-body></t:note><t:line-break/>'
                'north.</t:p><t:list><t:list-item><t:p>a</t:p><t:list><t:list-item><t:p>b</t:p></t:list-item></t:list>'
                '</t:list-item></t:list><b:table><b:table-row><b:table-cell><t:p>Ship</t:p></b:table-cell><b:table-cell>'
                '<t:p>Tons</t:p></b:table-cell></b:table-row></b:table>')
        book = self.read("book.odt", odt(body))
        self.assertEqual(book.text, "The Harbour\n\nIt  lay open[1]\nnorth.\n\n[1] See vol. 2.\n\n- a\n  - b\n\nShip | Tons")
        self.assertEqual(book.sections, [(2, "The Harbour", 0)])

    def test_documents_with_a_password_are_said_to_be_so(self):
        manifest = {"META-INF/manifest.xml": "<m><e><encryption-data/></e></m>"}
        self.refused("a.odt", odt("<t:p>a</t:p>", manifest), "PAL-DOC-09", "password")
        self.refused("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "PAL-DOC-02", "old version")
        package_stream = "EncryptedPackage".encode("utf-16-le")
        self.refused("b.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + package_stream + bytes(600), "PAL-DOC-09", "password")
        locked = changed_directory(epub({"a.xhtml": "a"}), lambda d: d[:8] + b"\1" + d[9:])
        self.refused("locked.epub", locked, "PAL-DOC-09", "password")
        self.refused("sheet.docx", docx("", {"word/document.xml": "<workbook/>"}), "PAL-DOC-02", "not a Word document")

    # -- text and what is in a session ---------------------------------------------------------------------------------

    def test_a_session_has_the_sections_and_goes_on(self):
        path = self.put("book.epub", epub({"a.xhtml": "<h1>One</h1><p>The keeper lit the lamp.</p>" + "<p>the sea</p>" * 40,
                                           "b.xhtml": "<h1>Two</h1><p>The wind came.</p>"}))
        first = self.document("read", path, "--session", "one", *SMALL)
        again = self.document("read", path, "--session", "one", *SMALL)
        self.assertEqual(first["tokens_seen"], again["tokens_seen"])
        shown = self.document("sessions", "show", "one")["documents"][0]
        self.assertEqual([s["title"] for s in shown["sections"]], ["One", "Two"])
        kept = self.document("inspect", path, *SMALL)
        self.assertEqual(self.kept("one"), kept["heads"])
        self.put("book.epub", epub({"a.xhtml": "<p>another</p>"}))
        self.fails(1, "PAL-DOC-06", "read", path, "--session", "one", *SMALL)

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_sections_pages_and_metadata_are_in_every_result(self):
        long = [(50, 100 + 14 * i, "Many words stand before the first section, in line %d of this page." % i) for i in range(40)]
        pages = [long, [(50, 100, "The Harbour"), (50, 140, "The pilot sold his boat.")]]
        path = self.put("scan_0017.pdf", pdf(pages, [("The Harbour", 1)], "0 << /S /r >> 1 << /S /D /St 7 >>"))
        self.document("read", path, "--session", "one", *SMALL)
        (shown,) = self.document("sessions", "show", "one")["documents"]
        (stored,) = self.document("inspect", "--session", "one")["documents"]
        (streamed,) = self.document("inspect", path, *SMALL)["documents"]
        told = {"title": "The Salt Road", "format": "PDF", "author": "Ada Brennan", "language": None}
        for document in (shown, stored, streamed):
            self.assertEqual({key: document[key] for key in told}, told)
            self.assertEqual([(s["title"], s["level"]) for s in document["sections"]], [("The Harbour", 1)])
            self.assertEqual([p["label"] for p in document["pages"]], ["i", "7"])
            self.assertEqual(document["pages"][1]["first_byte"], document["sections"][0]["first_byte"])
        self.assertEqual(stored["first_token"], streamed["first_token"])
        self.assertEqual(stored["pages"], streamed["pages"])
        found = self.document("find", "pilot boat", "--session", "one", "--words")["passages"][-1]
        self.assertEqual((found["page"], found["last_page"], found["section"], found["section_path"]), ("7", "7", "The Harbour",
                         ["The Harbour"]))
        said = self.run_command("find", "pilot boat", "--session", "one", "--words").stdout.decode()
        self.assertIn("The Salt Road, The Harbour, page 7, tokens ", said)

    @unittest.skipUnless(HAS_PDF, "built without Qt Pdf")
    def test_a_passage_over_several_pages_names_the_first_and_the_last(self):
        pages = [[(50, 100, "The Harbour"), (50, 140, "The keeper, who had lit the lamp for thirty years and")],
                 [(50, 100, "had never once been paid for his oil, sold the boat, and")],
                 [(50, 100, "went away on the first morning of spring.")]]
        path = self.put("a.pdf", pdf(pages, [("The Harbour", 0)]))
        self.document("read", path, "--session", "one", *SMALL)
        (found,) = self.document("find", "keeper lamp", "--session", "one", "--words")["passages"]
        self.assertEqual((found["page"], found["last_page"]), ("1", "3"))
        said = self.run_command("find", "keeper lamp", "--session", "one", "--words").stdout.decode()
        self.assertIn("The Harbour, pages 1–3, tokens ", said)
        terminal = Terminal(self.environment, "chat", "--session", "one")
        terminal.write(b"/pin years and had\r")
        terminal.wait_for(": The Salt Road, The Harbour, pages 1–2".encode())
        terminal.write(b"/quit\r")
        terminal.end_with(0)
        self.document("library", "add", path, *SMALL[:2])
        self.assertIn(", pages 1–3, tokens ", self.run_command("library", "search", "keeper").stdout.decode())

    def test_a_page_that_begins_after_the_text_of_a_file_goes_on_in_the_next(self):
        mark = '<span epub:type="pagebreak" title="%s"/>'
        path = self.put("book.epub", epub({"a.xhtml": "<h1>One</h1><p>The %s keeper.</p>%s" % (mark % "1", mark % "2"),
                                           "b.xhtml": "<p>The wind came.</p>" + mark % "3"}))
        book = self.document("read", path, "--session", "one", *SMALL)
        (shown,) = self.document("sessions", "show", "one")["documents"]
        text = Read(READER, path).text.encode()
        self.assertEqual([(p["label"], text[p["first_byte"]:]) for p in shown["pages"]],
                         [("1", b"keeper.\n\nThe wind came."), ("2", b"The wind came."), ("3", b"")])
        self.assertEqual(book["coverage"]["pages_without_text"], ["3"])
        self.assertEqual(shown["format"], "EPUB")

    def test_the_name_of_a_file_is_no_title(self):
        for title, expected in (("Microsoft Word - a.doc", "book"), ("untitled", "book"), ("notes.TEX", "book"),
                                ("Microsoft PowerPoint - a", "book"), ("Microsoft in 1990", "Microsoft in 1990"),
                                ("Mr. Brown", "Mr. Brown")):
            page = "<html><head><title>%s</title></head><body><p>The keeper wrote.</p></body></html>" % title
            self.document("read", self.put("book.html", page), "--session", title, *SMALL)
            self.assertEqual(self.document("sessions", "show", title)["documents"][0]["title"], expected)

    def test_contents_decide_what_a_file_is(self):
        named_wrongly = self.put("book.txt", epub({"a.xhtml": "<h1>One</h1><p>a</p>"}))
        plain = self.put("plain.txt", "One\n\na")
        count = lambda path: self.run_command("tokenize", path, "--count", "--model", SMALL[1]).stdout
        self.assertEqual(count(named_wrongly), count(plain))
        late = self.put("late.txt", b"The keeper.\n" * 20000 + ("Die Brücke über den Fluß, größer als je. " * 9).encode("latin-1"))
        self.assertIn("taken for", self.run_command("read", late, "--session", "late", *SMALL).stderr.decode())
        latin = self.put("latin.txt", ("Über die Brücke ging der König, größer als je zuvor. " * 9).encode("latin-1"))
        self.assertEqual(Read(READER, latin).text, "Über die Brücke ging der König, größer als je zuvor. " * 9)
        self.assertIn("taken for", self.run_command("read", latin, "--session", "l", *SMALL).stderr.decode())

    # -- hostile files -------------------------------------------------------------------------------------------------

    def test_hostile_archives_are_refused(self):
        chapters = {"a.xhtml": "<p>a</p>"}
        good = epub(chapters)
        self.refused("bomb.epub", epub({"a.xhtml": "a" * (64 << 20)}), "PAL-DOC-08", "more than 200 times")
        self.refused("overlap.epub", overlapping(3), "PAL-DOC-10", "does not hold together")
        for name in ("../a", "/a", "a/../../b", "a\\b", "c:a"):
            self.refused("path.epub", epub(chapters, {name: b"x"}), "PAL-DOC-10", "not allowed")
        self.refused("many.epub", zipped({str(i): b"" for i in range(10001)}), "PAL-DOC-08", "10001 entries")
        self.refused("lzma.epub", zipped({"mimetype": b"a" * 1000}, zipfile.ZIP_LZMA), "PAL-DOC-02", "method")
        self.refused("inner.epub", zipped({"book.epub": good}), "PAL-DOC-02", "zip archive")
        stored = zipped({"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}, zipfile.ZIP_STORED)
        self.refused("sum.epub", stored.replace(b"book.opf", b"cook.opf"), "PAL-DOC-10", "cannot be unpacked")
        self.refused("crc.epub", changed_directory(good, lambda d: d[:16] + bytes(4) + d[20:]), "PAL-DOC-10", "hold together")
        self.refused("cut.epub", good[:len(good) // 2], "PAL-DOC-10", "hold together")
        self.refused("none.epub", b"PK\3\4", "PAL-DOC-10", "hold together")

    def test_every_cut_and_many_changes_of_an_archive_end_well(self):
        good = epub({"a.xhtml": "<h1>One</h1><p>a</p>"})
        files = [good[:n] for n in range(0, len(good), 97)]
        files += [good[:i] + bytes([good[i] ^ 0x40]) + good[i + 1:] for i in range(0, len(good), 37)]
        for content in files:
            try:
                self.assertLess(len(self.read("x.epub", content).text), 10000)
            except ValueError as problem:  # a sentence
                self.assertRegex(problem.args[0], rb"[a-z]{3} [a-z]+")

    def test_xml_can_name_no_file_and_grow_into_nothing(self):
        chapters = {"a.xhtml": "<p>&e;</p>"}
        xxe = '<!DOCTYPE package [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
        self.refused("xxe.epub", epub(chapters, doctype=xxe), "PAL-DOC-02", "declares entities")
        laughs = '<!DOCTYPE p [<!ENTITY a "lol">%s]>' % "".join(
            '<!ENTITY %s "%s">' % (chr(98 + i), ("&%s;" % chr(97 + i)) * 10) for i in range(9))
        self.refused("bomb.docx", docx("<w:p/>", {"word/styles.xml": laughs + "<s>&j;</s>"}), "PAL-DOC-02", "declares entities")
        inside = {"OEBPS/text/a.xhtml": xxe.replace("package", "html") + xhtml("<p>&e;a</p>")}
        self.assertEqual(self.read("inside.epub", epub(chapters, inside)).text, "&e;a")
        deep = "<w:p>" * 300 + "</w:p>" * 300
        self.refused("deep.docx", docx(deep), "PAL-DOC-08", "256 deep")
        hidden = '<!--><x a="-->' + deep + '<!--"/>-->'
        self.refused("hidden.docx", docx(hidden), "PAL-DOC-08", "256 deep")  # a comment that seems to end at once
        self.refused("open.docx", docx("<w:p>"), "PAL-DOC-10", "not well formed")

    def test_deep_and_endless_html_ends(self):
        self.refused("deep.html", "<html>" + "<div>" * 10000 + "x", "PAL-DOC-08", "256 deep")
        self.assertEqual(self.read("text.html", "<html>" + "<b>" * 100 + "x").text, "x")
        line = self.read("line.html", "<html><p>" + "word " * 1000000)
        self.assertEqual(len(line.text), 5000000 - 1)

    def test_what_is_no_file_is_refused(self):
        os.mkfifo(os.path.join(self.folder, "pipe.epub"))
        writer = threading.Thread(target=lambda: self.put("pipe.epub", b"PK\3\4"))
        writer.start()
        self.refused("pipe.epub", None, "PAL-DOC-01", "a pipe")
        writer.join()
        os.mkdir(os.path.join(self.folder, "folder.epub"))
        self.refused("folder.epub", None, "PAL-DOC-01", "a folder")
        self.refused("empty.epub", b"", "PAL-DOC-03", "no text")

    def test_a_document_that_takes_too_much_memory_is_refused(self):
        if b"sanitized: yes" in subprocess.run([READER, "--show-sandbox"], capture_output=True).stdout:
            self.skipTest("a sanitizer takes all memory")
        varied = "".join("<w:p><w:r><w:t>%d</w:t></w:r></w:p>" % (i * 7919) for i in range(2500000))  # too varied for a bomb
        self.refused("huge.docx", docx(varied), "PAL-DOC-08", "512 MiB")

    # -- the sandbox ---------------------------------------------------------------------------------------------------

    def test_the_reader_can_reach_nothing(self):
        shown = subprocess.run([READER, "--show-sandbox"], stdout=subprocess.PIPE, timeout=PATIENCE).stdout.decode()
        protections = dict(line.split(": ") for line in shown.splitlines())
        protections.pop("PDF")
        self.assertEqual(protections.pop("no new privileges"), "yes")
        is_sanitized = protections.pop("sanitized") == "yes"
        landlock, seccomp = protections.pop("Landlock"), protections.pop("seccomp")
        if not is_sanitized and os.path.exists("/proc/sys/kernel/seccomp/actions_avail"):
            self.assertEqual(seccomp, "yes")
            self.assertEqual(set(protections.values()), {"forbidden"}, protections)
            self.assertGreaterEqual(len(protections), 13)
        elif landlock == "yes":
            self.assertEqual(protections["open a file"], "forbidden")
            self.assertEqual(protections["write a file"], "forbidden")
            self.assertEqual(protections["run a program"], "forbidden")
        self.assertFalse([name for name in os.listdir("/tmp") if name.startswith("palimpsest-reader")])

    def test_a_stopped_command_leaves_no_reader(self):
        path = self.put("long.html", "<p>%s</p>" % "the keeper of light wrote " * 2000000)
        program = self.start("read", path, "--session", "one", *SMALL)
        children = lambda: subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True).stdout.split()
        wait_until(lambda: children() or program.poll() is not None)
        reader = children()
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=PATIENCE)
        self.assertEqual(program.returncode, 130)
        self.assertTrue(reader)
        self.assertFalse(os.path.exists("/proc/%s" % reader[0].decode()))


if __name__ == "__main__":
    run("__main__")
