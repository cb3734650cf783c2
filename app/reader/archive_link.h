// Links between the files of an archive.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::reader {

// With "%20" and the like as what they stand for.
std::string without_percents(std::string_view link);

// The name in the archive of what `link`, in the file `base`, refers to, without fragment; empty if it leaves the
// archive.
std::string resolved(const std::string& base, std::string_view link);

} // namespace palimpsest::reader
