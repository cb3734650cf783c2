// Names that exist on this machine or in the program, which shells ask for while a command line is typed.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::app {

struct OfferedName {
    std::string name;
    std::string meaning{}; // one line, in English; may be empty
};

// `what`: sessions, documents, models, policies or simd. `database`: as for storage::database_file. Returns nothing
// where they cannot be read at once; waits for no lock, creates nothing, and leaves out names with characters that
// a terminal does not show. Cost: for sessions and documents a query, for models a listing of the model folders.
std::vector<OfferedName> offered_names(const std::string& what, const std::string& database);

} // namespace palimpsest::app
