#include "app/palimpsest/long_measurement.h"

#include <CLI/CLI.hpp>

#include "app/palimpsest/measuring.h"
#include "engine/session/arithmetic.h"
#include "engine/session/session_setup.h"
#include "storage/interrupted.h"
#include "storage/session/pinning.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {

void add_measurement_options(CLI::App& command, CommonOptions& common, std::string& journal)
{
    add_journal_option(command, journal);
    add_backend_options(command, common);
    command.add_flag("--json", common.json, "print one JSON document");
    add_events_option(command, common);
}

nlohmann::ordered_json measurement_of(const std::string& eval, const engine::Model& model,
                                      const CommonOptions& options)
{
    return {{"eval", eval},
            {"version", PALIMPSEST_VERSION},
            {"model", storage::model_json(model)["fingerprint"]},
            {"arithmetic", engine::name_of(engine::arithmetic_of(model))},
            {"chunk", options.chunk},
            {"positions", options.positions},
            {"kv_type", options.kv_type},
            {"pins", options.pins}};
}

engine::SessionOptions options_to_measure(const CommonOptions& common, const engine::Model& model,
                                          std::span<const engine::TokenId> ids, uint64_t added, uint64_t more,
                                          const std::string& name)
{
    engine::SessionOptions options = common.session(model.config(), length_to_measure(ids.size(), added, more));
    if (!common.pins.empty()) options.pins = storage::pins_in(ids, common.pins, model, Text::escaped(name)).pins;
    engine::set_up(options, model.config(), model.backend().at_once());
    return options;
}

nlohmann::ordered_json budget_json(const engine::Session& session)
{
    const int32_t budget = session.options().budget;
    return budget == engine::no_budget ? nlohmann::ordered_json() : nlohmann::ordered_json(budget);
}

Error not_finite(const engine::Model& model, const std::string& document)
{
    return {ErrorKind::Failed, ErrorCode::ModelG15, Text::escaped(document),
            Text("the attention that {0} pays to it is not a finite number",
                 Text::escaped(model.files().path.filename().string())),
            Text("the weights are damaged; download the model again")};
}

LongMeasurement::LongMeasurement(Console& console, bool events, const std::string& what, uint64_t tokens,
                                 Journal& journal)
    : listener_(console, events), meter_(listener_, what), journal_(journal), tokens_(tokens)
{
}

nlohmann::ordered_json LongMeasurement::part(const std::string& key, uint64_t tokens, const Measure& measure)
{
    nlohmann::ordered_json result;
    if (const nlohmann::ordered_json* known = journal_.find(key)) {
        result = *known;
    } else {
        if (!std::exchange(has_begun_, true)) meter_.start_at(0, done_);
        result = measure([&](const engine::Session& session, engine::Telemetry now) {
            now.tokens_seen += done_;
            meter_.update(session, now, 0, tokens_);
        });
        if (result.is_null())
            throw storage::Interrupted{
                journal_.file().empty()
                    ? Text("stopped while measuring; no result was printed")
                    : Text("stopped while measuring; the results so far are in {0}, and the same command goes on "
                           "from them",
                           Text::escaped(journal_.file()))};
        journal_.add(key, result);
    }
    done_ += tokens;
    return result;
}

} // namespace palimpsest::app
