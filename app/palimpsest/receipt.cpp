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

Text reach_sentence(const engine::RetentionMap& map)
{
    const engine::Reach r = engine::reach(map);
    double older = 0;
    for (size_t i = 0; i < 9; ++i)
        older += r.by_tenth[i];
    return Text("half of the kept tokens are among the last {0}; {1} % come from the first nine tenths",
                format_count(r.median_age + 1), std::lround(older * 100));
}

Text budget_sentence(const engine::Session& session)
{
    if (session.options().budget == engine::no_budget) return Text("no budget");
    const std::string tokens = format_count(static_cast<uint64_t>(session.options().budget));
    if (session.policy().retrieval()) return Text("keeps everything, reads {0} tokens per step", tokens);
    return Text("budget {0} tokens per layer and head", tokens);
}

Text memory_sentence(const engine::Session& session)
{
    const engine::Telemetry t = session.telemetry();
    return Text("cache {0} (a full cache would take {1}), {2}, {3}", format_bytes(t.cache_bytes),
                format_bytes(t.full_cache_bytes), session.options().policy.name, budget_sentence(session));
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
    const auto line = [&](const Text& text) { console.err << console.wording.of(text) << std::endl; };
    line(Text("model:    {0}", visible(storage::display_name(session.model()))));
    if (protocol != storage::Protocol::Blind) line(Text("protocol: {0}", name_of(protocol)));
    line(Text("coverage: {0}", coverage.sentence()));
    line(Text("reach:    {0}", reach_sentence(map)));
    line(Text("memory:   {0}", memory_sentence(session)));
    for (const Text& remark : engine::session_remarks(session))
        line(Text("model:    {0}", remark));
    if (const Text lengths = lengths_sentence(session); !lengths.empty()) line(Text("kept:     {0}", lengths));
    if (!session.pins().empty()) line(Text("pins:     {0}", pins_sentence(session)));
}

} // namespace palimpsest::app
