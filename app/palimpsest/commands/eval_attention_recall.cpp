// `eval attention-recall`: which share of the attention that a model without eviction pays falls on tokens that a
// policy still holds, by layer, place and distance.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/journal.h"
#include "app/palimpsest/long_measurement.h"
#include "app/palimpsest/measuring.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/policy_grid.h"
#include "app/palimpsest/shown_share.h"
#include "app/palimpsest/table.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/attention_recall.h"
#include "engine/eval/full_session.h"
#include "engine/session/host_memory.h"
#include "engine/session/session_setup.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using engine::AttentionAtDistance;
using engine::AttentionProbe;
using engine::AttentionRecall;
using engine::AttentionShare;
using engine::PlaceRecall;
using nlohmann::ordered_json;
using storage::model_json;

struct ProbedDocument {
    TokenSource source;
    SourceTokens tokens;
    std::vector<uint64_t> places;
    std::string key; // of the document in the journal
};

// The means of a policy over the places of all documents at which it had evicted something.
struct PolicyAttention {
    PolicyAndBudget setting;
    std::vector<bool> local{};           // [layers]
    std::vector<AttentionShare> lists{}; // [layers * kv_heads]
    std::vector<AttentionAtDistance> by_distance{};
    struct Place {
        std::string document;
        uint64_t tokens = 0; // before it
        ordered_json budget; // tokens, or null
        bool has_evicted = false;
        AttentionShare share;
    };
    std::vector<Place> places{};
    size_t evicted = 0; // of the places
};

AttentionShare mean(std::span<const AttentionShare> shares)
{
    AttentionShare sum;
    for (const AttentionShare& share : shares) {
        sum.held += share.held / static_cast<double>(shares.size());
        sum.best += share.best / static_cast<double>(shares.size());
    }
    return sum;
}

class EvalAttentionRecall final : public Command {
public:
    explicit EvalAttentionRecall(CLI::App& parent)
    {
        command_ = parent.add_subcommand(
            "attention-recall", "the share of full attention that falls on tokens a policy still holds, by layer");
        command_->add_option("FILE", files_, "documents")->required();
        grid_.add_options(*command_);
        add_first_option(*command_, first_);
        command_->add_option("--places", places_, "where to look, spread over each document")
            ->capture_default_str()
            ->check(CLI::Range(1, 1000));
        command_->add_option("--rows", rows_, "tokens after each place whose attention is measured")
            ->capture_default_str()
            ->check(CLI::Range(1, 1024));
        add_cache_options(*command_, common_);
        add_measurement_options(*command_, common_, journal_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (rows_ > common_.chunk)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--rows"),
                        Text("{0} tokens are more than a chunk of {1}", rows_, common_.chunk),
                        Text("choose fewer, or a larger --chunk"));
        const auto model = load_chosen_model(common_, console);
        std::vector<ProbedDocument> documents;
        for (const std::string& file : files_)
            documents.push_back(read_document(file, *model, console));
        std::vector<PolicyAttention> results;
        for (const PolicyAndBudget& setting : grid_.all(common_)) {
            check(setting, *model, documents);
            results.push_back({.setting = setting});
        }
        for (const ProbedDocument& document : documents)
            require_memory(*model, document);
        Journal journal(journal_, measurement(*model));
        measure(model, documents, results, journal, console);
        if (common_.json)
            write_json(console.out, json(*model, documents, results));
        else
            write_table(results, console);
    }

private:
    ProbedDocument read_document(const std::string& file, const engine::Model& model, Console& console) const
    {
        const uint64_t most = most_tokens(first_);
        ProbedDocument document{.source = {file, ""}, .tokens = {}, .places = {}, .key = {}};
        document.tokens = read_source(document.source, model, most, console, common_.events);
        const uint64_t tokens = document.tokens.ids.size();
        if (tokens <= static_cast<uint64_t>(rows_))
            throw Error(
                ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(file),
                Text("it has {0} tokens, too few to look at the attention of {1}", format_count(tokens), rows_),
                Text("give a longer document, or choose fewer --rows"));
        if (tokens > static_cast<uint64_t>(model.config().context))
            throw Error(
                ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(file),
                Text("it has {0} tokens, and full attention, with which policies are compared, reads no more "
                     "than the {1} that the model was trained on",
                     format_count(tokens), format_count(static_cast<uint64_t>(model.config().context))),
                Text("measure its first tokens only, with --first"));
        pins_to_measure(model, common_, document.tokens, document.source, console); // for its notes
        document.places = engine::probe_places(tokens, common_.chunk, rows_, places_);
        document.key = input_key(file, document.tokens.ids);
        return document;
    }

    // Throws Error (Usage) for a policy or budget that is not possible, before anything is measured.
    void check(const PolicyAndBudget& setting, const engine::Model& model,
               const std::vector<ProbedDocument>& documents) const
    {
        for (const ProbedDocument& document : documents) {
            const auto setup =
                engine::set_up(options_for(setting, model, document), model.config(), model.backend().at_once());
            for (int32_t layer = 0; !setup.policy->watches(layer); ++layer)
                if (layer + 1 == model.config().layers)
                    throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(setting.policy),
                                Text("every layer of this model is local and within the budget, so there is "
                                     "nothing to evict"),
                                Text("leave it out, or choose a smaller budget"));
        }
    }

    // Throws Error (Resources) if a document's attention does not fit into memory.
    void require_memory(const engine::Model& model, const ProbedDocument& document) const
    {
        const uint64_t needed = engine::bytes_to_probe(model, full_options(model, document),
                                                       document.tokens.ids.size(), document.places, rows_);
        const uint64_t available = engine::available_memory();
        if (needed > available)
            throw Error(ErrorKind::Resources, ErrorCode::MemoryPlanDoesNotFit, Text::escaped(document.source.file),
                        Text("to keep the attention at {0} places of {1} tokens takes {2}, and {3} are available",
                             document.places.size(), format_count(document.tokens.ids.size()), format_bytes(needed),
                             format_bytes(available)),
                        Text("choose fewer --places, or read less of it with --first"));
    }

    // The settings of this run. A journal with other settings is refused.
    ordered_json measurement(const engine::Model& model) const
    {
        ordered_json all = measurement_of("attention-recall", model, common_);
        all.update({{"first", most_tokens(first_)}, {"places", places_}, {"rows", rows_}});
        return all;
    }

    static std::string key_of(const PolicyAttention& result, const ProbedDocument& document)
    {
        return result.setting.policy + "|" + result.setting.budget + "|" + document.key;
    }

    // Document by document, so that only one document's probes are in memory. Full attention is read with the first
    // policy whose result is not in the journal.
    void measure(const std::shared_ptr<const engine::Model>& model, const std::vector<ProbedDocument>& documents,
                 std::vector<PolicyAttention>& results, Journal& journal, Console& console) const
    {
        uint64_t tokens = 0;
        for (const ProbedDocument& document : documents)
            tokens += document.tokens.ids.size() * (results.size() + 1);
        LongMeasurement measurement(console, common_.events, "attention-recall", tokens, journal);
        for (const ProbedDocument& document : documents) {
            const uint64_t own = document.tokens.ids.size();
            const auto first = std::ranges::find_if(results, [&](const PolicyAttention& result) {
                return journal.find(key_of(result, document)) == nullptr;
            });
            std::optional<std::vector<AttentionProbe>> probes;
            for (auto result = results.begin(); result != results.end(); ++result) {
                const bool reads_full = result == first || (first == results.end() && result == results.begin());
                const ordered_json found = measurement.part(
                    key_of(*result, document), reads_full ? 2 * own : own,
                    [&](const LongMeasurement::Report& report) -> ordered_json {
                        if (!probes) probes = probe(model, document, report, console.stop);
                        if (!probes) return nullptr;
                        const uint64_t before = reads_full ? own : 0;
                        return read(model, document, result->setting, *probes, before, report, console.stop);
                    });
                add(found, document, *result);
            }
        }
    }

    std::optional<std::vector<AttentionProbe>> probe(const std::shared_ptr<const engine::Model>& model,
                                                     const ProbedDocument& document,
                                                     const LongMeasurement::Report& report,
                                                     const std::stop_token& stop) const
    {
        const auto full = engine::full_session(model, full_options(*model, document), document.tokens.ids.size(),
                                               {.window = rows_});
        const engine::FeedOptions feed{
            .stop = stop, .progress = [&](const engine::Telemetry& now) { report(*full, now); }, .loss = {}};
        return engine::probe_attention(*full, document.tokens.ids, document.places, feed);
    }

    engine::SessionOptions full_options(const engine::Model& model, const ProbedDocument& document) const
    {
        engine::SessionOptions options;
        options.chunk = common_.chunk;
        options.kv_type = options_for({"full", "none"}, model, document).kv_type;
        return options;
    }

    engine::SessionOptions options_for(const PolicyAndBudget& setting, const engine::Model& model,
                                       const ProbedDocument& document) const
    {
        return options_to_measure(setting.options(common_), model, document.tokens.ids, document.tokens.added, 0,
                                  document.source.file);
    }

    // Null: stopped. `before`: tokens of the same part that were read before.
    ordered_json read(const std::shared_ptr<const engine::Model>& model, const ProbedDocument& document,
                      const PolicyAndBudget& setting, const std::vector<AttentionProbe>& probes, uint64_t before,
                      const LongMeasurement::Report& report, const std::stop_token& stop) const
    {
        engine::Session session(model, options_for(setting, *model, document));
        const engine::FeedOptions feed{.stop = stop,
                                       .progress =
                                           [&](engine::Telemetry now) {
                                               now.tokens_seen += before;
                                               report(session, now);
                                           },
                                       .loss = {}};
        const auto recall = engine::attention_recall(session, document.tokens.ids, probes, feed);
        if (!recall) return nullptr;
        const auto is_finite = [](const AttentionShare& share) { return std::isfinite(share.held + share.best); };
        if (!std::ranges::all_of(recall->lists, is_finite) ||
            !std::ranges::all_of(recall->places, is_finite, &PlaceRecall::share))
            throw not_finite(*model, document.source.file);
        ordered_json by_distance = ordered_json::array();
        for (const AttentionAtDistance& at : recall->by_distance)
            by_distance.push_back({at.all, at.held});
        ordered_json places = ordered_json::array();
        for (const PlaceRecall& place : recall->places)
            places.push_back({place.share.held, place.share.best, place.has_evicted});
        return {{"budget", budget_json(session)}, {"evicted", recall->evicted}, {"local", recall->local},
                {"lists", pairs(recall->lists)},  {"places", places},           {"by_distance", by_distance}};
    }

    static ordered_json pairs(const std::vector<AttentionShare>& shares)
    {
        ordered_json all = ordered_json::array();
        for (const AttentionShare& share : shares)
            all.push_back({share.held, share.best});
        return all;
    }

    static AttentionShare share_of(const ordered_json& pair) { return {.held = pair.at(0), .best = pair.at(1)}; }

    static void add(const ordered_json& found, const ProbedDocument& document, PolicyAttention& result)
    {
        result.local = found["local"].get<std::vector<bool>>();
        result.lists.resize(found["lists"].size());
        result.by_distance.resize(found["by_distance"].size());
        for (size_t i = 0; i < document.places.size(); ++i) {
            const ordered_json& place = found["places"].at(i);
            result.places.push_back({.document = document.source.file,
                                     .tokens = document.places[i],
                                     .budget = found["budget"],
                                     .has_evicted = place.at(2),
                                     .share = share_of(place)});
        }
        add_means(found, result);
    }

    static void add_means(const ordered_json& found, PolicyAttention& result)
    {
        const size_t own = found["evicted"];
        if (own == 0) return;
        result.evicted += own;
        const double weight = static_cast<double>(own) / static_cast<double>(result.evicted);
        const auto towards = [&](double& mean, double value) { mean += (value - mean) * weight; };
        for (size_t i = 0; i < result.lists.size(); ++i) {
            const AttentionShare share = share_of(found["lists"][i]);
            towards(result.lists[i].held, share.held);
            towards(result.lists[i].best, share.best);
        }
        for (size_t i = 0; i < result.by_distance.size(); ++i) {
            towards(result.by_distance[i].all, found["by_distance"][i][0]);
            towards(result.by_distance[i].held, found["by_distance"][i][1]);
        }
    }

    static std::span<const AttentionShare> layer_of(const PolicyAttention& result, size_t layer)
    {
        const size_t kv_heads = result.lists.size() / result.local.size();
        return std::span(result.lists).subspan(layer * kv_heads, kv_heads);
    }

    // Over all layers but local ones.
    static AttentionShare mean_of_layers(const PolicyAttention& result)
    {
        std::vector<AttentionShare> layers;
        for (size_t l = 0; l < result.local.size(); ++l)
            if (!result.local[l]) layers.push_back(mean(layer_of(result, l)));
        return mean(layers);
    }

    static std::string percent_of(double share) { return percent(share, 1); }

    void write_table(const std::vector<PolicyAttention>& results, Console& console) const
    {
        const CommandWording& wording = console.wording;
        console.out << wording.of(Text(
            "attention of {0} tokens after each place in a model without eviction: the share on tokens that are "
            "held, and on the best ones that lists of the same lengths could hold\n",
            rows_));
        for (const PolicyAttention& result : results) {
            console.out << '\n' << setting_name(result.setting, wording) << '\n';
            console.out << wording.of(Text("  layers and distances: means over {0} of {1} places, those after an "
                                           "eviction; local layers are in none but their own\n",
                                           result.evicted, result.places.size()));
            Table table;
            const auto add_row = [&](const std::string& name, const AttentionShare& share, bool is_known) {
                const auto shown = [&](double part) { return is_known ? percent_of(part) : std::string("n/a"); };
                table.add({"  " + name, shown(share.held), shown(share.best)});
            };
            const bool has_means = result.evicted > 0;
            table.add({"", wording.of(Text("held")), wording.of(Text("best"))});
            add_row(wording.of(Text("all layers")), mean_of_layers(result), has_means);
            for (size_t l = 0; l < result.local.size(); ++l)
                add_row(wording.of(result.local[l] ? Text("layer {0} (local)", l) : Text("layer {0}", l)),
                        mean(layer_of(result, l)), has_means);
            for (const PolicyAttention::Place& place : result.places)
                add_row(wording.of(Text("after {0} tokens of {1}", format_count(place.tokens), place.document)),
                        place.share, true);
            table.write_columns(console);
            if (has_means) write_distances(result, console);
        }
    }

    static void write_distances(const PolicyAttention& result, Console& console)
    {
        const CommandWording& wording = console.wording;
        Table table;
        table.add({"", wording.of(Text("attention")), wording.of(Text("of it held"))});
        for (size_t i = 1; i < result.by_distance.size(); ++i) {
            const AttentionAtDistance& at = result.by_distance[i];
            if (at.all == 0) continue;
            const uint64_t from = AttentionRecall::distances[i - 1] + 1;
            table.add({"  " + wording.of(Text("from {0} tokens back", format_count(from))), percent_of(at.all),
                       percent_of(at.held / at.all)});
        }
        table.write_columns(console);
    }

    static ordered_json share_json(const AttentionShare& share, bool is_known = true)
    {
        const auto number = [&](double part) { return is_known ? ordered_json(part) : ordered_json(); };
        return {{"held", number(share.held)}, {"best", number(share.best)}};
    }

    static ordered_json result_json(const PolicyAttention& result)
    {
        const bool has_means = result.evicted > 0;
        ordered_json one = {
            {"policy", result.setting.policy}, {"budget", result.setting.budget}, {"places", result.evicted}};
        one.update(share_json(mean_of_layers(result), has_means));
        ordered_json by_layer = ordered_json::array(), by_place = by_layer, by_distance = by_layer;
        for (size_t l = 0; l < result.local.size(); ++l) {
            const auto lists = layer_of(result, l);
            ordered_json layer = {{"layer", l}, {"local", bool(result.local[l])}};
            layer.update(share_json(mean(lists), has_means));
            for (const AttentionShare& list : lists)
                layer["heads"].push_back(share_json(list, has_means)["held"]);
            by_layer.push_back(layer);
        }
        for (const PolicyAttention::Place& place : result.places) {
            by_place.push_back({{"document", place.document},
                                {"tokens", place.tokens},
                                {"budget", place.budget},
                                {"evicted", place.has_evicted}});
            by_place.back().update(share_json(place.share));
        }
        for (size_t i = 0; has_means && i < result.by_distance.size(); ++i) {
            const AttentionAtDistance& at = result.by_distance[i];
            const uint64_t from = i == 0 ? 0 : AttentionRecall::distances[i - 1] + 1;
            by_distance.push_back({{"from", from}, {"attention", at.all}, {"held", at.held}});
        }
        one.update({{"by_layer", by_layer}, {"by_place", by_place}, {"by_distance", by_distance}});
        return one;
    }

    ordered_json json(const engine::Model& model, const std::vector<ProbedDocument>& documents,
                      const std::vector<PolicyAttention>& results) const
    {
        ordered_json read = ordered_json::array(), all = read;
        for (const ProbedDocument& document : documents)
            read.push_back({{"document", document.source.file}, {"tokens", document.tokens.ids.size()}});
        for (const PolicyAttention& result : results)
            all.push_back(result_json(result));
        return {{"schema", "palimpsest.attention-recall/1"},
                {"model", model_json(model)},
                {"chunk", common_.chunk},
                {"rows", rows_},
                {"documents", read},
                {"results", all}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    PolicyGrid grid_;
    std::vector<std::string> files_;
    std::string first_, journal_;
    int32_t places_ = 8, rows_ = 16;
};

} // namespace

std::unique_ptr<Command> make_eval_attention_recall(CLI::App& parent)
{
    return std::make_unique<EvalAttentionRecall>(parent);
}

} // namespace palimpsest::app
