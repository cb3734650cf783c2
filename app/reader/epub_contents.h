// The table of contents of an EPUB: the nav document of EPUB 3, the NCX of EPUB 2.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/reader/html_text.h"

namespace palimpsest::reader {

// Which sections begin in a content document.
struct SectionsOfFile {
    SectionMark first;                                    // with the file; no title: none
    std::unordered_map<std::string, SectionMark> by_id{}; // at the element with this id
};
using EpubContents = std::unordered_map<std::string, SectionsOfFile>; // by the file's name in the archive

// `name`: of the file in the archive, against which its links are resolved.
EpubContents contents_of_nav(std::string_view xhtml, const std::string& name);
EpubContents contents_of_ncx(std::string_view xml, const std::string& name);

} // namespace palimpsest::reader
