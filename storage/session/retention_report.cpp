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
    if (stored) {
        document["tokens_fed_again"] = stored->tokens_fed_again;
        document["bytes_written"] = stored->bytes_written;
    }
    if (!question.empty()) document["question"] = question;
    return document;
}

} // namespace palimpsest::storage
