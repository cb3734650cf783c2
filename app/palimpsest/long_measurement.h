// Runs the parts of a long measurement one after the other: each takes its result from the journal if it is there,
// and progress is that of all together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/journal.h"
#include "kernels/base/error.h"
#include "storage/session/reading_meter.h"

namespace palimpsest::app {

// Adds what every measurement has: --journal, the options of model and backend, --json and --events. The arguments
// must outlive the command.
void add_measurement_options(CLI::App& command, CommonOptions& common, std::string& journal);

// The settings that every measurement stores at the head of its journal: the version of the program, the model, its
// arithmetic, and the options of the cache except policy and budget, which are part of each result's key.
nlohmann::ordered_json measurement_of(const std::string& eval, const engine::Model& model,
                                      const CommonOptions& options);
// The options of a session that reads `ids` and then `more` tokens, the pins of `common` among them. Throws Error
// (Usage) if they do not fit the model or one another, or if a pin is not in the text.
engine::SessionOptions options_to_measure(const CommonOptions& common, const engine::Model& model,
                                          std::span<const engine::TokenId> ids, uint64_t added, uint64_t more,
                                          const std::string& name);

// The budget of a session, as documents name it: tokens, or null without one.
nlohmann::ordered_json budget_json(const engine::Session& session);

// The error for a document for which the model's attention is not a finite number.
Error not_finite(const engine::Model& model, const std::string& document);

class LongMeasurement {
public:
    // `what` names it in the progress. `tokens`: to be read by all parts, those in the journal included. The
    // arguments must outlive this.
    LongMeasurement(Console& console, bool events, const std::string& what, uint64_t tokens, Journal& journal);

    // Reports the progress of a part's session.
    using Report = std::function<void(const engine::Session& session, const engine::Telemetry& now)>;
    // Measures a part of so many tokens, those of its questions included; null: stopped. Throws Interrupted then,
    // which says where the results so far are.
    using Measure = std::function<nlohmann::ordered_json(const Report& report)>;
    nlohmann::ordered_json part(const std::string& key, uint64_t tokens, const Measure& measure);

private:
    ConsoleListener listener_;
    storage::ReadingMeter meter_;
    Journal& journal_;
    uint64_t tokens_, done_ = 0;
    bool has_begun_ = false;
};

} // namespace palimpsest::app
