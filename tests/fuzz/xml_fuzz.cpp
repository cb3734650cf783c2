#include <cstdint>

#include "app/reader/xml_document.h"
#include "tests/fuzz/parsed_document.h"

using namespace palimpsest;

// Visits every element.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    fuzz::parse_checked([&](reader::TextWriter& writer) {
        writer.begin("XML");
        pugi::xml_document document;
        reader::load_xml(fuzz::as_text(data, size), "fuzz.xml", document);
        int depth = 0;
        reader::walk_xml(
            document.document_element(),
            [&](const pugi::xml_node& node) {
                writer.line(reader::local_name(node));
                ++depth;
                return true;
            },
            [&](const pugi::xml_node&) { --depth; });
        if (depth != 0) std::abort(); // every element that was entered is left
        writer.block(reader::text_of(document.document_element()));
    });
    return 0;
}
