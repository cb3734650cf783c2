"""Documents made for tests: well-formed ones, and hostile ones that no program writes."""
import io
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
            archive.writestr(name, content)
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
