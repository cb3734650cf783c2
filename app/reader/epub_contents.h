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

// The name in the archive of what `link`, in the file `base`, refers to, without fragment; empty if it leaves the
// archive.
std::string resolved(const std::string& base, std::string_view link);

} // namespace palimpsest::reader
