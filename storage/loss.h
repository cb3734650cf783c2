// What could not be rescued from a damaged database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::storage {

enum class LostPart {
    SessionSettings, // its row: name or model, and options; the texts that it had are shown
    Stream,          // the order of its parts: the session can be read, not continued
    Message,
    DocumentEntry,  // title and source; the text is whole
    DocumentText,   // all or a part of it
    DocumentTokens, // of a whole text
    Cache,          // the saved states; the text is read again
    FadeRecord,
    Pin,
    Setting, // of the program
    Details, // of documents, messages or sessions: some rows of the table `name`
};

struct Loss {
    std::string session{}; // name; empty: of no session
    LostPart part = LostPart::Message;
    std::string name{}; // of a document, setting or table
    uint64_t count = 1; // of messages and pins
    bool operator==(const Loss&) const = default;
};

// "session 'notes': 2 messages are lost"
Text sentence_of(const Loss& loss);
// Tables that LostPart::Details names.
std::vector<std::string> tables_of_details();
// For scripts, such as "message".
std::string name_of(LostPart part);

} // namespace palimpsest::storage
