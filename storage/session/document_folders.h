// Finds the documents in folders, by the extensions of their names.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace palimpsest::storage {

struct FoundDocuments {
    std::vector<std::string> files{};
    uint64_t other_files = 0;              // in the folders, with extensions that no document has
    std::vector<std::string> unreadable{}; // folders
};

// Replaces every folder among `names` by the documents in it and in its folders, in the order of their names:
// numbers within names by value, so that "chapter 2" comes before "chapter 10". Leaves out what is hidden (".git"),
// and does not follow links to folders. Keeps all other names as they are. Ends early when stopped.
FoundDocuments find_documents(const std::vector<std::string>& names, const std::stop_token& stop);

} // namespace palimpsest::storage
