// The JSON document palimpsest.retention/1, which `inspect --json`, `inspect --map` and the window's export write.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/cache/retention_map.h"
#include "engine/session/telemetry.h"
#include "storage/session/document_report.h"
#include "storage/session/pinning.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"

namespace palimpsest::storage {

class StoredSession;

// The part of the document that does not come from map and telemetry. Has no references to the session, so that
// another thread can write the document, also with a newer map of the same session.
struct RetentionReport {
    std::optional<std::string> session{}; // its name; only the window's export has it
    ModelReport model{};
    PolicyReport policy{};
    Coverage coverage{};
    PinsReport pins{};
    std::vector<DocumentReport> documents{}; // in the order of the stream
    struct Stored {
        uint64_t tokens_fed_again = 0, bytes_written = 0;
    };
    std::optional<Stored> stored{}; // only for a stored session
    std::string question{};         // known while the documents were read; empty: none. Sets "protocol"

    // Leaves `question` and `documents` empty.
    static RetentionReport of(const engine::Session& session, ModelReport model, const Coverage& coverage);
    static RetentionReport of(StoredSession& session); // REQUIRES: has_engine

    // Returns all members but "heads", which engine::heads_json and engine::write_json add. REQUIRES: `map` and
    // `telemetry` are of the same moment.
    nlohmann::ordered_json json(const engine::RetentionMap& map, const engine::Telemetry& telemetry) const;
};

} // namespace palimpsest::storage
