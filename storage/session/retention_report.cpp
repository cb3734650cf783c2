#include "storage/session/retention_report.h"

#include <utility>

#include "storage/session/protocol.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {

RetentionReport RetentionReport::of(const engine::Session& session, ModelReport model, const Coverage& coverage)
{
    return {.model = std::move(model),
            .policy = PolicyReport::of(session),
            .coverage = coverage,
            .pins = PinsReport::of(session)};
}

RetentionReport RetentionReport::of(StoredSession& session)
{
    RetentionReport report = of(session.session(), session.model_report(), session.coverage());
    report.stored = {.tokens_fed_again = session.tokens_fed_again(), .bytes_written = session.bytes_written()};
    report.question = session.question();
    uint64_t end = 0;
    for (const StreamPart& part : session.parts()) {
        const uint64_t first = std::exchange(end, end + tokens_of(part));
        if (const StreamDocument* document = document_in(part)) {
            Library& library = session.store().library;
            report.documents.push_back(DocumentReport::of(library, library.get(document->id), first));
        }
    }
    return report;
}

nlohmann::ordered_json RetentionReport::json(const engine::RetentionMap& map,
                                             const engine::Telemetry& telemetry) const
{
    nlohmann::ordered_json document;
    document["schema"] = "palimpsest.retention/1";
    if (session) document["session"] = *session;
    document["model"] = model.json();
    document["policy"] = policy.json(map);
    document["protocol"] = name_of(protocol_of_session(question));
    document["tokens_seen"] = map.tokens_seen;
    document["coverage"] = coverage.json();
    document["reach"] = reach_json(map);
    document["memory"] = memory_json(telemetry);
    document["pins"] = pins.json(map);
    auto& all = document["documents"] = nlohmann::ordered_json::array();
    for (const DocumentReport& one : documents)
        all.push_back(one.json());
    if (stored) {
        document["tokens_fed_again"] = stored->tokens_fed_again;
        document["bytes_written"] = stored->bytes_written;
    }
    if (!question.empty()) document["question"] = question;
    return document;
}

} // namespace palimpsest::storage
