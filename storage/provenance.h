// Where an answer comes from: how much was read when it was given, which passages it rests on, and the sentence
// that supports it best. Kept with the answer, so that a session that is opened again still shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/database.h"
#include "storage/page_range.h"

namespace palimpsest::storage {

// A half-open range of stream indices.
struct StreamRange {
    uint64_t first = 0, last = 0;
    bool operator==(const StreamRange&) const = default;
};

// The sentence of a document that supports an answer best.
struct QuotedSentence {
    std::string text{};                     // verbatim
    std::string place{};                    // the title of its section, else of its document
    StreamRange range{};                    // of the document in the stream
    PageRange pages{};                      // on which it stands
    std::vector<std::string> unsupported{}; // names and numbers of the answer that no passage has which was found
    bool operator==(const QuotedSentence&) const = default;
};

struct Provenance {
    uint64_t tokens_in_input = 0, tokens_read = 0; // tokens of documents
    int32_t budget = 0;
    struct Source {
        StreamRange range{};
        double weight = 0; // share of the answer's attention to documents
        double held = 0;   // share of the range's (layer, KV head, token) triples that were kept
        // Its tokens were read again for the question; `range` is their place in the document.
        bool read_again = false;
        bool operator==(const Source&) const = default;
    };
    std::vector<Source> sources{}; // heaviest first; empty if the attention could not be traced
    // The answer was written from its sources alone: they are all, they were read again, and have equal weights.
    bool is_from_sources_alone = false;
    std::optional<QuotedSentence> quote{};
    bool operator==(const Provenance&) const = default;
};

// The provenance of stored answers, one row each (docs/formats.md, provenance). An answer that could not be stored
// when it was given has none.
class Provenances {
public:
    explicit Provenances(Database& database) : db_(database) {}

    void put(int64_t answer, const Provenance& provenance); // replaces the answer's
    void copy(int64_t from, int64_t to);                    // of an answer to its copy, within a transaction
    // By answer. A row that is damaged, too large, or impossible (tokens beyond the session's stream) is left out.
    std::map<int64_t, Provenance> of(int64_t session, uint64_t stream_tokens);
    size_t count_left_out(int64_t session, uint64_t stream_tokens);
    size_t remove_left_out(int64_t session, uint64_t stream_tokens); // returns how many

private:
    struct Read {
        std::map<int64_t, Provenance> all;
        std::vector<int64_t> left_out; // answers
    };
    Read read(int64_t session, uint64_t stream_tokens);

    Database& db_;
};

} // namespace palimpsest::storage
