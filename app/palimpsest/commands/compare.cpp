// `compare`: the same document under several policies and budgets: kept sets, overlap, perplexity, speed, memory.

#include <algorithm>
#include <cstdio>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/model_choice.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/pinning.h"
#include "app/palimpsest/retention_picture.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/loss_meter.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;

// What is left of a run: the session itself is gone, so that memory holds one at a time.
struct Contender {
    std::string spec;
    engine::SessionOptions options; // as resolved
    ordered_json policy;
    engine::Telemetry telemetry;
    engine::RetentionMap map;
    engine::Loss loss;
    double tokens_per_second = 0;
    bool complete = true; // false: it keeps everything and its capacity was reached
};

class Compare final : public Command {
public:
    explicit Compare(CLI::App& parent)
    {
        command_ = parent.add_subcommand("compare", "run several policies over one document");
        add_token_source(*command_, source_);
        command_->add_option("--policies", policies_, "specs, separated by commas")->required();
        command_->add_option("--budgets", budgets_, "budgets, separated by commas; each policy runs with each");
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_output_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        check_token_source(source_);
        const auto model = load_model(common_);
        const SourceTokens tokens = read_source(source_, *model, UINT64_MAX, console);
        std::vector<Contender> contenders;
        for (const std::string& policy : split_policies(policies_))
            for (const std::string& budget : budgets_.empty() ? std::vector{common_.budget} : split_list(budgets_))
                contenders.push_back(read(model, policy, budget, tokens, console));
        Coverage coverage = tokens.coverage; // of the contender that read least
        coverage.tokens_read = coverage.tokens_in_input;
        for (const Contender& c : contenders)
            coverage.tokens_read = std::min(coverage.tokens_read, c.map.tokens_seen - tokens.added);
        check_complete(coverage, common_.require_complete, source_.name());
        if (common_.json) return write_json(console.out, json(*model, contenders, coverage));
        console.out << table(contenders);
        for (const Contender& c : contenders)
            console.out << '\n' << title(c) << '\n' << unicode_picture(c.map, {}, 80);
        if (common_.events)
            write_event(console.err, {{"event", "receipt"}, {"coverage", coverage.json()}});
        else
            console.err << "coverage: " << coverage.sentence() << std::endl;
    }

private:
    Contender read(const std::shared_ptr<const engine::Model>& model, const std::string& policy,
                   const std::string& budget, const SourceTokens& tokens, Console& console) const
    {
        CommonOptions options = common_;
        options.policy = policy;
        options.budget = budget;
        engine::SessionOptions chosen = options.session(model->config(), tokens.coverage.tokens_in_input);
        chosen.pins = pins_in(tokens.ids, options.pins, *model, source_.name());
        engine::Session session(model, chosen);
        Contender c{.spec = policy,
                    .options = session.options(),
                    .policy = policy_json(session),
                    .telemetry = {},
                    .map = {},
                    .loss = {}};
        engine::LossMeter meter;
        Progress progress(console, Progress::style_for(console, common_.events), policy, std::nullopt);
        engine::FeedOptions feed;
        feed.stop = console.stop;
        feed.progress = [&](const engine::Telemetry& t) { progress.update(t, 0, tokens.ids.size()); };
        feed.loss = [&](uint64_t index, engine::TokenId, double nll) { meter.add(index, nll); };
        std::span<const engine::TokenId> ids(tokens.ids);
        if (!session.policy().bounded() && ids.size() > static_cast<size_t>(c.options.budget)) {
            ids = ids.first(static_cast<size_t>(c.options.budget));
            c.complete = false;
        }
        const bool read_all = session.feed(ids, feed);
        c.tokens_per_second = session.telemetry().tokens_per_second;
        if (!read_all || !session.finish(feed)) throw Interrupted{"stopped while comparing; nothing was written"};
        c.telemetry = session.telemetry();
        if (c.tokens_per_second == 0) c.tokens_per_second = c.telemetry.tokens_per_second;
        c.map = session.retention();
        c.loss = meter.all();
        return c;
    }

    static std::string title(const Contender& c)
    {
        return c.options.policy.text() + ", budget " + std::to_string(c.options.budget);
    }

    static std::string table(const std::vector<Contender>& contenders)
    {
        std::string out =
            "policy                         budget  perplexity    tok/s       cache  full cache  median age\n";
        bool cut = false;
        for (const Contender& c : contenders) {
            const engine::Telemetry& t = c.telemetry;
            char line[200];
            std::snprintf(line, sizeof line, "%-30s %6d  %10.3f %8.0f %11s %11s %11s%s\n", c.spec.c_str(),
                          c.options.budget, c.loss.perplexity(), c.tokens_per_second,
                          format_bytes(t.cache_bytes).c_str(), format_bytes(t.full_cache_bytes).c_str(),
                          format_count(engine::reach(c.map).median_age).c_str(), c.complete ? "" : " *");
            out += line;
            cut = cut || !c.complete;
        }
        if (cut) out += "* keeps everything: read only as far as the model's context\n";
        out += "tok/s includes the loss of every token\n";
        if (contenders.size() < 2) return out;
        out += "\noverlap of the kept sets, % of either\n";
        for (size_t i = 0; i < contenders.size(); ++i) {
            char line[64];
            std::snprintf(line, sizeof line, "%-30s", contenders[i].spec.c_str());
            out += line;
            for (size_t j = 0; j < contenders.size(); ++j) {
                std::snprintf(line, sizeof line, " %5.1f",
                              100 * engine::overlap(contenders[i].map, contenders[j].map));
                out += line;
            }
            out += '\n';
        }
        return out;
    }

    static ordered_json json(const engine::Model& model, const std::vector<Contender>& contenders,
                             const Coverage& coverage)
    {
        ordered_json results = ordered_json::array();
        ordered_json overlaps = ordered_json::array();
        for (size_t i = 0; i < contenders.size(); ++i) {
            const Contender& c = contenders[i];
            results.push_back({{"policy", c.policy},
                               {"tokens_seen", c.map.tokens_seen},
                               {"complete", c.complete},
                               {"perplexity", c.loss.perplexity()},
                               {"mean_loss", c.loss.mean()},
                               {"tokens_per_second", c.tokens_per_second},
                               {"memory", memory_json(c.telemetry)},
                               {"reach", reach_json(c.map)},
                               {"heads", heads_json(c.map, {})}});
            for (size_t j = i + 1; j < contenders.size(); ++j)
                overlaps.push_back({{"a", i}, {"b", j}, {"overlap", engine::overlap(c.map, contenders[j].map)}});
        }
        return {{"schema", "palimpsest.comparison/1"},
                {"model", model_json(model)},
                {"coverage", coverage.json()},
                {"results", results},
                {"overlaps", overlaps}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    TokenSource source_;
    std::string policies_, budgets_;
};

} // namespace

std::unique_ptr<Command> make_compare(CLI::App& parent)
{
    return std::make_unique<Compare>(parent);
}

} // namespace palimpsest::app
