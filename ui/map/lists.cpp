#include "ui/map/lists.h"

#include <algorithm>

#include "engine/cache/retention_export.h"
#include "storage/session/retention_report.h"
#include "ui/engine/facts.h"

namespace palimpsest::ui {
namespace {

// Corrects the tokens read: while a document is read, the map is newer than the facts.
storage::RetentionReport report_at(const SessionFacts& facts, uint64_t tokens_seen)
{
    storage::RetentionReport report = *facts.report;
    report.coverage.tokens_read =
        std::max(report.coverage.tokens_read, document_tokens_read(facts.documents, tokens_seen));
    return report;
}

} // namespace

MapWriters writers_of(std::shared_ptr<const SessionFacts> facts, const engine::Telemetry& telemetry)
{
    if (!facts) return {};
    MapWriters writers{
        .csv = [](std::ostream& out, const engine::RetentionMap& map) { engine::write_csv(out, map, {}); },
        .json = {}};
    if (facts->report)
        writers.json = [facts = std::move(facts), telemetry](std::ostream& out, const engine::RetentionMap& map) {
            engine::write_json(out, report_at(*facts, map.tokens_seen).json(map, telemetry), map, {});
        };
    return writers;
}

} // namespace palimpsest::ui
