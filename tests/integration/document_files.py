"""Documents made for tests: well-formed ones, and hostile ones that no program writes."""
import io
import re
import struct
import zipfile

CONTAINER = ('<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
             '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
             '</container>')
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)  # without the time of today
    return out.getvalue()


def package(chapters, doctype="", extra=""):
    items = "".join('<item id="c%d" href="text/%s" media-type="application/xhtml+xml"/>' % (i, name)
                    for i, name in enumerate(chapters))
    spine = "".join('<itemref idref="c%d"/>' % i for i in range(len(chapters)))
    return ('<?xml version="1.0" encoding="utf-8"?>%s<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Salt Road</dc:title>'
            '<dc:creator>Ada Brennan</dc:creator><dc:creator>Li Wei</dc:creator><dc:language>en</dc:language></metadata>'
            '<manifest>%s%s</manifest><spine>%s</spine></package>' % (doctype, items, extra, spine))


def xhtml(body):
    return '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>%s</body></html>' % body


def epub(chapters, more=None, **of_package):
    """`chapters`: bodies by file name, in the order of the spine. They are stored in the opposite order."""
    entries = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}
    for name in reversed(list(chapters)):
        entries["OEBPS/text/" + name] = xhtml(chapters[name])
    entries["OEBPS/book.opf"] = package(chapters, **of_package)
    entries.update(more or {})
    return zipped(entries)


def docx(body, more=None):
    return zipped({
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": '<Relationships><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
                       'relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": '<w:document %s><w:body>%s</w:body></w:document>' % (W, body), **(more or {})})


def odt(body, more=None):
    return zipped({
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": '<o:document-content xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:t="urn:oasis:'
                       'names:tc:opendocument:xmlns:text:1.0" xmlns:b="urn:oasis:names:tc:opendocument:xmlns:table:1.0">'
                       '<o:body><o:text>%s</o:text></o:body></o:document-content>' % body, **(more or {})})


def changed_directory(archive, change):
    """The archive after `change` of the bytes of its central directory, which it gets and returns."""
    at = struct.unpack_from("<I", archive, archive.rfind(b"PK\5\6") + 16)[0]
    end = archive.rfind(b"PK\5\6")
    directory = change(bytearray(archive[at:end]))
    assert len(directory) == end - at
    return archive[:at] + bytes(directory) + archive[end:]


def overlapping(copies):
    """Many entries whose data is the same bytes (Fifield, "A better zip bomb")."""
    packed = zipped({"a.xhtml": b"a" * 100000})
    local = packed[:packed.index(b"PK\1\2")]
    entry = packed[packed.index(b"PK\1\2"):packed.index(b"PK\5\6")]
    directory = entry * copies
    return local + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, copies, copies, len(directory), len(local), 0)


def pdf(pages, outline=(), labels=None, title="The Salt Road", extra_trailer="", raw_objects=()):
    """A PDF with a list of (x, y, text) for each page, y from the top, and an outline of (title, page)."""
    objects = {}

    def add(number, body):
        objects[number] = body

    first = 10
    kids = " ".join("%d 0 R" % (first + 2 * i) for i in range(len(pages)))
    add(1, "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R %s >>" % (
        "/PageLabels << /Nums [ %s ] >>" % labels if labels else ""))
    add(2, "<< /Type /Pages /Count %d /Kids [ %s ] >>" % (len(pages), kids))
    add(3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    for i, lines in enumerate(pages):
        content = "".join("BT /F1 10 Tf %d %d Td (%s) Tj ET\n" % (x, 800 - y, text.replace("(", "\\(").replace(")", "\\)"))
                          for x, y, text in lines)
        add(first + 2 * i, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Resources << /Font << /F1 3 0 "
            "R >> >> >>" % (first + 2 * i + 1))
        add(first + 2 * i + 1, "<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    marks = first + 2 * len(pages)
    for i, (name, page) in enumerate(outline):
        add(marks + i, "<< /Title (%s) /Parent 4 0 R /Dest [%d 0 R /XYZ 0 800 0] %s >>" % (
            name, first + 2 * page, "/Next %d 0 R" % (marks + i + 1) if i + 1 < len(outline) else ""))
    add(4, "<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (marks, marks + len(outline) - 1, len(outline))
        if outline else "<< /Type /Outlines /Count 0 >>")
    add(5, "<< /Title (%s) /Author (Ada Brennan) >>" % title)
    for number, body in raw_objects:
        add(number, body)
    out, offsets = "%PDF-1.7\n", {}
    for number in sorted(objects):
        offsets[number] = len(out.encode("latin-1"))
        out += "%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start = len(out.encode("latin-1"))
    size = max(objects) + 1
    table = "".join("%010d 00000 n \n" % offsets[n] if n in offsets else "0000000000 65535 f \n" for n in range(size))
    out += "xref\n0 %d\n%strailer\n<< /Size %d /Root 1 0 R /Info 5 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        size, table, size, extra_trailer, start)
    return out.encode("latin-1")


PAGE = [(50, 100, "The keeper wrote.")]


def pdf_of_form(length):
    """A page that draws a form, the object 90, which draws itself. `length`: of its stream, which may be an object too."""
    return pdf([PAGE], raw_objects=[
        (10, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 11 0 R /Resources << /XObject << /X 90 0 R >> >> >>"),
        (11, "<< /Length 5 >>\nstream\n/X Do\nendstream"),
        (90, "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 90 0 R >> >> /Length %s >>\n"
             "stream\n/X Do\nendstream" % length)])


def pdf_of_tables(count):
    """A PDF with further tables of objects. Each names the one before it, and the first names the last."""
    out = pdf([PAGE])
    size = re.search(rb"/Size (\d+)", out)[1].decode()
    table = "xref\n0 0\ntrailer\n<< /Size %s /Root 1 0 R /Prev %010d >>\nstartxref\n%010d\n%%%%EOF\n"
    bytes_of_table = len(table % (size, 0, 0))
    begins = [len(out) + i * bytes_of_table for i in range(count)]
    return out + "".join(table % (size, begins[i - 1], begins[i]) for i in range(count)).encode()
