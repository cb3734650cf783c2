// `eval ppl`: perplexity of documents under a policy, by length; with --per-token the loss of every token.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/measuring.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/output_file.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/windows.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/list_lengths.h"
#include "storage/session/listener.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/reading_meter.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::check_complete;
using storage::Coverage;
using storage::Interrupted;
using storage::lengths_sentence;
using storage::memory_json;
using storage::model_json;
using storage::name_of;
using storage::policy_json;
using storage::Protocol;

using WriteLoss = std::function<void(uint64_t index, engine::TokenId token, double nll)>;

struct Measurement {
    std::string input;
    std::string policy;
    ordered_json policy_description{};
    Text kept{};          // lengths of its lists, if they differ from the budget
    bool complete = true; // false: a policy without a budget has filled its cache
    int32_t chunk = 0;
    engine::Loss loss{};
    std::vector<std::pair<uint64_t, engine::Loss>> by_length{};
    std::vector<uint64_t> unreached{}; // requested lengths beyond the tokens read
    Coverage coverage;
    uint64_t words = 0; // 0: unknown, or the document was not read completely
    engine::Telemetry telemetry{};
};

class EvalPpl final : public Command {
public:
    explicit EvalPpl(CLI::App& parent)
    {
        command_ = parent.add_subcommand("ppl", "perplexity by length, per policy and budget");
        command_->add_option("FILE", files_, "documents");
        command_->add_option("--token-ids", token_ids_, "a file of whitespace-separated token ids instead of FILE");
        command_->add_option("--policies", policies_, "specs, separated by commas, instead of --policy");
        command_->add_option("--budgets", budgets_, "budgets, separated by commas, instead of --budget");
        command_->add_option("--lengths", lengths_, "also the perplexity of the first 1k,2k,4k tokens");
        command_->add_option("--first", first_,
                             "measure no more than this many tokens of each document, such as 16k");
        command_->add_option("--window", window_, "read windows of this many tokens, each anew, such as 2k");
        command_->add_option("--stride", stride_,
                             "tokens from a window to the next; without it, those of a window");
        command_->add_option("--per-token", per_token_, "write index,token_id,nll of every token to this CSV file");
        common_.chunk = default_chunk;
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_output_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        std::vector<TokenSource> sources;
        for (const std::string& file : files_)
            sources.push_back({file, ""});
        if (!token_ids_.empty()) sources.push_back({"", token_ids_});
        if (sources.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                        Text("there is no FILE"), Text("give a file or --token-ids"));
        const auto policies = policies_.empty() ? std::vector{common_.policy} : split_policies(policies_);
        const auto budgets = budgets_.empty() ? std::vector{common_.budget} : split_list(budgets_);
        if (!per_token_.empty() && sources.size() * policies.size() * budgets.size() > 1)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--per-token"),
                        Text("it holds one measurement and several are asked for"),
                        Text("give one document, policy and budget"));
        check_windows();
        std::optional<OutputFile> csv;
        if (!per_token_.empty()) csv.emplace(per_token_);
        const auto model = load_chosen_model(common_, console);
        const uint64_t most = most_tokens(first_);
        std::vector<Measurement> all;
        for (const TokenSource& source : sources) {
            const SourceTokens tokens = read_source(source, *model, most, console, common_.events);
            const engine::Pins pins = pins_to_measure(*model, common_, tokens, source, console);
            for (const std::string& policy : policies)
                for (const std::string& budget : budgets)
                    all.push_back(measure(model, source, tokens, pins, policy, budget,
                                          csv ? &csv->stream() : nullptr, console));
        }
        if (csv) csv->commit();
        if (common_.json)
            write_json(console.out, json(*model, all));
        else
            console.out << table(all, console.wording);
        for (const Measurement& m : all)
            check_complete(m.coverage, common_.require_complete, m.input);
    }

private:
    // Small, because nothing is evicted before a whole chunk is computed.
    static constexpr int32_t default_chunk = 64;

    void check_windows() const
    {
        if (window_.empty() && !stride_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--stride"),
                        Text("it says how far windows lie apart, and none are asked for"),
                        Text("give --window too, or leave it out"));
        if (window_.empty()) return;
        if (stride() < 1 || stride() > window())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--stride"),
                        Text("{0} is not between 1 and the {1} tokens of a window", stride(), window()),
                        Text("give such as half of the window, or leave it out"));
        if (!common_.pins.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::Pin),
                        Text("windows hold different tokens"), Text("leave it out"));
    }

    uint64_t window() const { return parse_length("--window", window_); }
    uint64_t stride() const { return stride_.empty() ? window() : parse_length("--stride", stride_); }

    Measurement measure(const std::shared_ptr<const engine::Model>& model, const TokenSource& source,
                        const SourceTokens& tokens, const engine::Pins& pins, const std::string& policy,
                        const std::string& budget, std::ostream* csv, Console& console) const
    {
        CommonOptions options = common_;
        options.policy = policy;
        options.budget = budget;
        const auto lengths = lengths_.empty() ? std::vector<uint64_t>{} : parse_lengths("--lengths", lengths_);
        const auto write_loss = [&](uint64_t index, engine::TokenId token, double nll) {
            if (!csv) return;
            char line[80];
            std::snprintf(line, sizeof line, "%llu,%d,%.9g\n", static_cast<unsigned long long>(index), token, nll);
            *csv << line;
        };
        if (csv) *csv << "index,token_id,nll\n0," << tokens.ids[0] << ",\n"; // the first token has no prediction
        if (!window_.empty()) return measure_windows(model, source, tokens, options, lengths, write_loss, console);
        engine::MeasuredReading reading = measured_reading(model, options, tokens, pins, lengths);
        engine::Session& session = reading.session();
        Measurement m{.input = source.name(),
                      .policy = policy,
                      .policy_description = {},
                      .kept = {},
                      .complete = reading.is_complete(),
                      .chunk = session.options().chunk,
                      .loss = {},
                      .by_length = {},
                      .unreached = {},
                      .coverage = tokens.coverage,
                      .words = 0,
                      .telemetry = {}};
        if (!read_all(reading, tokens, source.name() + " (" + policy + ")", options, console, write_loss))
            throw Interrupted{Text("stopped while measuring {0}; no result was printed", source.name())};
        m.loss = reading.losses().all();
        m.by_length = reading.losses().by_length();
        std::copy_if(lengths.begin(), lengths.end(), std::back_inserter(m.unreached),
                     [&](uint64_t length) { return length > reading.last(); });
        m.coverage.tokens_read = reading.last() - tokens.added;
        if (m.coverage.complete()) m.words = tokens.words;
        m.telemetry = session.telemetry();
        m.policy_description = policy_json(session);
        m.kept = lengths_sentence(session);
        return m;
    }

    // Each window is read by a session of its own, behind the tokens that stand before the document.
    Measurement measure_windows(const std::shared_ptr<const engine::Model>& model, const TokenSource& source,
                                const SourceTokens& tokens, const CommonOptions& options,
                                const std::vector<uint64_t>& lengths, const WriteLoss& write_loss,
                                Console& console) const
    {
        const auto own = std::span(tokens.ids).subspan(tokens.added);
        const std::vector<engine::Window> windows = engine::windows_of(own.size(), window(), stride());
        uint64_t all = 0, done = 0;
        for (const engine::Window& one : windows)
            all += tokens.added + one.end - one.begin;
        ConsoleListener listener(console, options.events);
        storage::ReadingMeter progress(listener, source.name() + " (" + options.policy + ")");
        engine::LossMeter losses(lengths);
        Measurement m{.input = source.name(), .policy = options.policy, .coverage = tokens.coverage};
        for (const engine::Window& one : windows) {
            std::vector<engine::TokenId> ids(tokens.ids.begin(),
                                             tokens.ids.begin() + std::ssize(tokens.ids) - std::ssize(own));
            const auto part = own.subspan(one.begin, one.end - one.begin);
            ids.insert(ids.end(), part.begin(), part.end());
            engine::MeasuredReading reading(
                model, options.session(model->config(), length_to_measure(ids.size(), tokens.added)), ids);
            if (!reading.is_complete())
                throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--window"),
                            Text("the lists of '{0}' hold {1} tokens, fewer than a window of {2}", options.policy,
                                 reading.last(), ids.size()),
                            Text("choose a smaller window"));
            engine::FeedOptions feed{.stop = console.stop, .progress = {}, .loss = {}};
            feed.progress = [&](engine::Telemetry now) {
                now.tokens_seen += done;
                progress.update(reading.session(), now, 0, all);
            };
            feed.loss = [&](uint64_t index, engine::TokenId token, double nll) {
                const uint64_t at = one.begin + index; // in the stream
                if (at < tokens.added + one.judged) return;
                losses.add(at, nll);
                write_loss(at, token, nll);
            };
            if (!reading.read_all(feed))
                throw Interrupted{Text("stopped while measuring {0}; no result was printed", source.name())};
            done += ids.size();
            m.chunk = reading.session().options().chunk;
            m.telemetry = reading.session().telemetry();
            m.policy_description = policy_json(reading.session());
        }
        m.loss = losses.all();
        m.by_length = losses.by_length();
        std::copy_if(lengths.begin(), lengths.end(), std::back_inserter(m.unreached),
                     [&](uint64_t length) { return length > tokens.ids.size(); });
        m.coverage.tokens_read = own.size();
        if (m.coverage.complete()) m.words = tokens.words;
        return m;
    }

    static double per_word(const Measurement& m)
    {
        return m.words == 0 ? 0 : std::exp(m.loss.total / static_cast<double>(m.words));
    }

    static std::string decimal(double number, int digits, int width = 0)
    {
        char text[64];
        std::snprintf(text, sizeof text, "%*.*f", width, digits, number);
        return text;
    }

    static std::string padded_count(uint64_t number, size_t width)
    {
        std::string text = format_count(number);
        text.resize(std::max(text.size(), width), ' ');
        return text;
    }

    std::string table(const std::vector<Measurement>& all, const CommandWording& wording) const
    {
        std::string out =
            wording.of(Text("{0}; perplexity = exp of the mean loss per token\n", name_of(Protocol::Blind)));
        for (const Measurement& m : all) {
            out += wording.of(Text("{0}  {1}  budget {2}  chunk {3}  {4} positions\n", m.input, m.policy,
                                   m.policy_description["budget"].dump(), m.chunk,
                                   m.policy_description["positions"].get<std::string>()));
            if (!window_.empty())
                out += wording.of(Text("  windows of {0} tokens, {1} apart, each read anew\n",
                                       format_count(window()), format_count(stride())));
            if (!m.kept.empty()) out += wording.of(Text("  kept: {0}\n", m.kept));
            for (const auto& [length, loss] : m.by_length)
                out += wording.of(Text("  first {0} perplexity {1}\n", padded_count(length, 12),
                                       decimal(loss.perplexity(), 4, 10)));
            for (const uint64_t length : m.unreached)
                out += wording.of(Text("  first {0}: n/a, fewer tokens were read\n", format_count(length)));
            if (m.complete) {
                out += wording.of(Text("  {0} perplexity {1}  loss {2}", padded_count(m.loss.tokens, 18),
                                       decimal(m.loss.perplexity(), 4, 10), decimal(m.loss.mean(), 5)));
                if (m.words > 0) out += wording.of(Text("  per word {0}", decimal(per_word(m), 2)));
                out += "\n";
            } else {
                out += wording.of(Text(
                    "  all tokens         n/a: it keeps everything and is full after {0} (perplexity {1} so far)\n",
                    format_count(m.loss.tokens + 1), decimal(m.loss.perplexity(), 4)));
            }
            out += wording.of(
                Text("  {0}; cache {1}\n", m.coverage.sentence(), format_bytes(m.telemetry.cache_bytes)));
        }
        return out;
    }

    ordered_json json(const engine::Model& model, const std::vector<Measurement>& all) const
    {
        ordered_json results = ordered_json::array();
        for (const Measurement& m : all) {
            ordered_json lengths = ordered_json::array();
            for (const auto& [length, loss] : m.by_length)
                lengths.push_back(
                    {{"length", length}, {"perplexity", loss.perplexity()}, {"mean_loss", loss.mean()}});
            for (const uint64_t length : m.unreached)
                lengths.push_back({{"length", length}, {"perplexity", nullptr}, {"mean_loss", nullptr}});
            ordered_json result = {{"input", m.input},
                                   {"policy", m.policy_description},
                                   {"complete", m.complete},
                                   {"perplexity", nullptr},
                                   {"mean_loss", nullptr},
                                   {"perplexity_per_word", nullptr},
                                   {"tokens_predicted", m.loss.tokens},
                                   {"by_length", lengths},
                                   {"coverage", m.coverage.json()},
                                   {"memory", memory_json(m.telemetry)}};
            if (m.complete) {
                result["perplexity"] = m.loss.perplexity();
                result["mean_loss"] = m.loss.mean();
                if (m.words > 0) result["perplexity_per_word"] = per_word(m);
            }
            results.push_back(result);
        }
        return {{"schema", "palimpsest.perplexity/1"},
                {"protocol", name_of(Protocol::Blind)},
                {"model", model_json(model)},
                {"window", window_.empty() ? ordered_json() : ordered_json(window())},
                {"stride", window_.empty() ? ordered_json() : ordered_json(stride())},
                {"results", results}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::vector<std::string> files_;
    std::string token_ids_, policies_, budgets_, lengths_, first_, per_token_, window_, stride_;
};

} // namespace

std::unique_ptr<Command> make_eval_ppl(CLI::App& parent)
{
    return std::make_unique<EvalPpl>(parent);
}

} // namespace palimpsest::app
