#include "app/palimpsest/receipt.h"

#include <cmath>

#include "app/palimpsest/output.h"
#include "engine/session/session_remarks.h"
#include "kernels/base/byte_quantity.h"
#include "storage/session/list_lengths.h"
#include "storage/session/model_choice.h"
#include "storage/session/pinning.h"
#include "storage/session/protocol.h"
#include "storage/session/session_choice.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using storage::lengths_json;
using storage::lengths_sentence;
using storage::memory_json;
using storage::model_json;
using storage::name_of;
using storage::pins_json;
using storage::pins_sentence;
using storage::reach_json;

} // namespace

nlohmann::ordered_json backend_json(const engine::Model& model, const std::string& lost)
{
    nlohmann::ordered_json backend{{"name", model.backend().name()},
                                   {"simd", model.backend().simd_target()},
                                   {"compute", storage::compute_name(model.backend())}};
    if (!lost.empty()) backend["lost_device"] = lost;
    return backend;
}

namespace {

std::string reach_sentence(const engine::RetentionMap& map)
{
    const engine::Reach r = engine::reach(map);
    double older = 0;
    for (size_t i = 0; i < 9; ++i)
        older += r.by_tenth[i];
    return "half of the kept tokens are among the last " + format_count(r.median_age + 1) + "; " +
           std::to_string(static_cast<int>(std::lround(older * 100))) + " % come from the first nine tenths";
}

std::string budget_sentence(const engine::Session& session)
{
    if (session.options().budget == engine::no_budget) return "no budget";
    const std::string tokens = format_count(static_cast<uint64_t>(session.options().budget)) + " tokens per ";
    if (session.policy().retrieval()) return "keeps everything, reads " + tokens + "step";
    return "budget " + tokens + "layer and head";
}

std::string memory_sentence(const engine::Session& session)
{
    const engine::Telemetry t = session.telemetry();
    return "cache " + format_bytes(t.cache_bytes) + " (a full cache would take " +
           format_bytes(t.full_cache_bytes) + "), " + session.options().policy.name + ", " +
           budget_sentence(session);
}

} // namespace

void write_receipt(Console& console, bool events, const engine::Session& session, const storage::Coverage& coverage,
                   storage::Protocol protocol)
{
    const engine::RetentionMap map = session.retention();
    if (events)
        return write_event(console.err, {{"event", "receipt"},
                                         {"model", model_json(session.model())},
                                         {"protocol", name_of(protocol)},
                                         {"coverage", coverage.json()},
                                         {"reach", reach_json(map)},
                                         {"memory", memory_json(session.telemetry())},
                                         {"budgets", lengths_json(session)},
                                         {"pins", pins_json(session)}});
    console.err << "model:    " << visible(storage::display_name(session.model())) << '\n';
    if (protocol != storage::Protocol::Blind) console.err << "protocol: " << name_of(protocol) << '\n';
    console.err << "coverage: " << coverage.sentence() << "\nreach:    " << reach_sentence(map)
                << "\nmemory:   " << memory_sentence(session) << std::endl;
    for (const std::string& remark : engine::session_remarks(session))
        console.err << "model:    " << remark << '\n';
    if (const std::string lengths = lengths_sentence(session); !lengths.empty())
        console.err << "kept:     " << lengths << std::endl;
    if (!session.pins().empty()) console.err << "pins:     " << pins_sentence(session) << std::endl;
}

} // namespace palimpsest::app
