// Zip archives for fuzzing. Mutations of a real one rarely come past its checksums, so the input names the parts in
// plain text, each after a line "@@name", and is packed here.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::fuzz {

// A valid archive of the parts, stored without compression. What stands before the first "@@" is left out.
std::string plain_archive(std::string_view parts);

} // namespace palimpsest::fuzz
