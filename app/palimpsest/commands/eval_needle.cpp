// `eval needle`: whether a session that has read a long text still knows a sentence that was hidden in it, by
// depth, length, policy and budget.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/journal.h"
#include "app/palimpsest/long_measurement.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/policy_grid.h"
#include "app/palimpsest/shown_share.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/needle_reading.h"
#include "engine/eval/proportion.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using engine::NeedleText;
using engine::NeedleWording;
using engine::Proportion;
using engine::Protocol;
using nlohmann::ordered_json;
using storage::model_json;

const std::map<std::string, Protocol> protocols = {
    {"blind", Protocol::Blind}, {"steered", Protocol::Steered}, {"question-last", Protocol::QuestionLast}};
const std::map<std::string, NeedleWording> wordings = {{"repeated", NeedleWording::Repeated},
                                                       {"paraphrased", NeedleWording::Paraphrased}};

// A text to be read under every policy and budget.
struct Haystack {
    std::string document;
    uint64_t trial = 0, length = 0;
    std::vector<double> depths; // percent
    NeedleText text;
    std::string key() const
    {
        return input_key(document, text.tokens) + "|" + std::to_string(trial) + "|" + std::to_string(length) + "|" +
               (depths.size() == 1 ? ordered_json(depths[0]).dump() : std::string("all"));
    }
};

// The answers to all questions of one depth and length.
struct Cell {
    Proportion chosen, generated;
    double loss = 0, held = 0; // sums
    ordered_json budget;       // tokens, or null
};

struct PolicyResult {
    PolicyAndBudget setting;
    std::map<std::pair<double, uint64_t>, Cell> cells; // by depth and length
    std::vector<uint64_t> too_long;                    // lengths that its lists cannot hold
    bool ignores_question = false;                     // it was to be steered and could not
};

class EvalNeedle final : public Command {
public:
    explicit EvalNeedle(CLI::App& parent)
    {
        command_ = parent.add_subcommand(
            "needle", "whether sentences hidden in a long text are still known, by depth and length");
        command_->add_option("FILE", files_, "documents in which the sentences are hidden")->required();
        grid_.add_options(*command_);
        command_->add_option("--lengths", lengths_, "lengths of the text in tokens, such as 2k,4k")
            ->capture_default_str();
        command_->add_option("--depths", depths_, "where the sentence stands, in percent of the text")
            ->capture_default_str();
        command_
            ->add_option("--trials", trials_, "texts per document, length and depth, each with its own sentence")
            ->capture_default_str()
            ->check(CLI::Range(1, 10000));
        command_->add_option("--wording", wording_, "of the question: repeated or paraphrased")
            ->capture_default_str()
            ->check(CLI::IsMember({"repeated", "paraphrased"}));
        command_->add_option("--decoys", decoys_, "sentences of the same form about other things, per question")
            ->capture_default_str()
            ->check(CLI::Range(size_t{0}, engine::NeedleMaker::most_decoys));
        command_->add_flag("--together", is_together_,
                           "hide a sentence at every depth of the same text, and ask for each");
        command_->add_option("--protocol", protocol_, "when the question is known: blind, steered or question-last")
            ->capture_default_str()
            ->check(CLI::IsMember({"blind", "steered", "question-last"}));
        command_->add_option("--generate", generated_, "also generate an answer of so many tokens")
            ->capture_default_str()
            ->check(CLI::Range(0, 10000));
        command_->add_option("--seed", seed_, "chooses the sentences and numbers")->capture_default_str();
        add_cache_options(*command_, common_);
        add_measurement_options(*command_, common_, journal_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        check_arguments();
        const auto model = load_chosen_model(common_, console);
        const std::vector<Haystack> haystacks = make_haystacks(*model, console);
        std::vector<PolicyResult> results;
        for (const PolicyAndBudget& setting : grid_.all(common_))
            results.push_back({.setting = setting, .cells = {}, .too_long = {}, .ignores_question = false});
        for (const PolicyResult& result : results)
            for (const Haystack& haystack : haystacks)
                options_for(*model, haystack, result.setting); // what does not fit is found before hours of reading
        Journal journal(journal_, measurement(*model));
        measure(model, haystacks, results, journal, console);
        if (common_.json)
            write_json(console.out, json(*model, results));
        else
            console.out << table(results, console.wording);
    }

private:
    void check_arguments() const
    {
        for (const double depth : depth_list())
            if (!(depth >= 0 && depth <= 100))
                throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--depths"),
                            Text("{0} is not between 0 and 100", shorter(depth)),
                            Text("give percentages, such as 0,50,100"));
        if (is_together_ && protocols.at(protocol_) != Protocol::Blind)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--together"),
                        Text("several questions can be asked of one text only after reading it"),
                        Text("leave it out, or choose --protocol blind"));
    }

    std::vector<double> depth_list() const
    {
        std::vector<double> depths;
        for (const std::string& text : split_list(depths_)) {
            double depth = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
            if (error != std::errc() || end != text.data() + text.size())
                throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--depths"),
                            Text("'{0}' is not a number", Text::escaped(text)),
                            Text("give percentages, such as 0,50,100"));
            depths.push_back(depth);
        }
        return each_once(depths);
    }

    template<class Value>
    static std::vector<Value> each_once(const std::vector<Value>& given)
    {
        std::vector<Value> values;
        for (const Value& value : given)
            if (std::ranges::find(values, value) == values.end()) values.push_back(value);
        return values;
    }

    // Every trial of a document begins at another place of it, and all policies, budgets, lengths and depths have
    // the same sentences, so that they can be compared in pairs.
    std::vector<Haystack> make_haystacks(const engine::Model& model, Console& console) const
    {
        const engine::Tokenizer& tokenizer = storage::require_tokenizer(model);
        const auto lengths = each_once(parse_lengths("--lengths", lengths_));
        const auto depths = depth_list();
        const uint64_t longest = *std::ranges::max_element(lengths);
        std::vector<Haystack> all;
        for (size_t d = 0; d < files_.size(); ++d) {
            const SourceTokens document = read_source({files_[d], ""}, model, UINT64_MAX, console, common_.events);
            for (uint64_t trial = 0; trial < trials_; ++trial) {
                const auto text = part_of(document, trial, longest);
                for (const uint64_t length : lengths) {
                    const auto add = [&](const std::vector<double>& at, uint64_t seed) {
                        all.push_back({.document = files_[d],
                                       .trial = trial,
                                       .length = length,
                                       .depths = at,
                                       .text = needle_text(tokenizer, text, document.added, length, at, seed)});
                    };
                    const uint64_t seed = seed_ + 1000003 * (d * trials_ + trial);
                    if (is_together_) {
                        add(depths, seed);
                        continue;
                    }
                    for (const double depth : depths)
                        add({depth}, seed);
                }
            }
        }
        return all;
    }

    std::vector<engine::TokenId> part_of(const SourceTokens& document, uint64_t trial, uint64_t longest) const
    {
        const uint64_t own = document.ids.size() - document.added;
        const uint64_t most = own > longest ? own - longest : 0;
        const uint64_t begin = trials_ == 1 ? 0 : most * trial / (trials_ - 1);
        std::vector<engine::TokenId> part(document.ids.begin(),
                                          document.ids.begin() + static_cast<ptrdiff_t>(document.added));
        const auto from = document.ids.begin() + static_cast<ptrdiff_t>(document.added + begin);
        part.insert(part.end(), from, from + static_cast<ptrdiff_t>(std::min(longest, own - begin)));
        return part;
    }

    NeedleText needle_text(const engine::Tokenizer& tokenizer, const std::vector<engine::TokenId>& text,
                           uint64_t added, uint64_t length, std::vector<double> depths, uint64_t seed) const
    {
        for (double& depth : depths)
            depth /= 100;
        return engine::make_needle_text(tokenizer, text, added, length, depths,
                                        {.wording = wordings.at(wording_), .decoys = decoys_, .seed = seed});
    }

    // The settings of this run. A journal with other settings is refused.
    ordered_json measurement(const engine::Model& model) const
    {
        ordered_json all = measurement_of("needle", model, common_);
        all.update({{"depths", depth_list()},
                    {"trials", trials_},
                    {"wording", wording_},
                    {"decoys", decoys_},
                    {"together", is_together_},
                    {"protocol", protocol_},
                    {"generate", generated_},
                    {"seed", seed_}});
        return all;
    }

    void measure(const std::shared_ptr<const engine::Model>& model, const std::vector<Haystack>& haystacks,
                 std::vector<PolicyResult>& results, Journal& journal, Console& console) const
    {
        uint64_t tokens = 0;
        for (const Haystack& haystack : haystacks)
            tokens += haystack.text.tokens.size();
        LongMeasurement measurement(console, common_.events, "needle", tokens * results.size(), journal);
        for (PolicyResult& result : results)
            for (const Haystack& haystack : haystacks) {
                const ordered_json found =
                    measurement.part(key_of(result, haystack), haystack.text.tokens.size(),
                                     [&](const LongMeasurement::Report& report) {
                                         return read(model, haystack, result.setting, report, console.stop);
                                     });
                add(found, haystack, result);
            }
    }

    static std::string key_of(const PolicyResult& result, const Haystack& haystack)
    {
        return result.setting.policy + "|" + result.setting.budget + "|" + haystack.key();
    }

    engine::SessionOptions options_for(const engine::Model& model, const Haystack& haystack,
                                       const PolicyAndBudget& setting) const
    {
        const NeedleText& text = haystack.text;
        engine::SessionOptions options =
            options_to_measure(setting.options(common_), model, text.tokens, 0,
                               engine::room_for_answers(text, generated_), haystack.document);
        if (protocols.at(protocol_) == Protocol::Steered)
            storage::make_room_for(text.asked[0].question, model.config(), Text::verbatim("eval needle"), options);
        return options;
    }

    // Null: stopped. Null as "answers": the lists cannot hold the text.
    ordered_json read(const std::shared_ptr<const engine::Model>& model, const Haystack& haystack,
                      const PolicyAndBudget& setting, const LongMeasurement::Report& report,
                      const std::stop_token& stop) const
    {
        const NeedleText& text = haystack.text;
        engine::Session session(model, options_for(*model, haystack, setting));
        const uint64_t stream = text.tokens.size() + engine::room_for_answers(text, generated_);
        const ordered_json budget = budget_json(session);
        if (!session.policy().bounded() && stream > static_cast<uint64_t>(session.policy().capacity()))
            return {{"budget", budget}, {"answers", nullptr}};
        const engine::FeedOptions feed{
            .stop = stop, .progress = [&](const engine::Telemetry& now) { report(session, now); }, .loss = {}};
        const auto answers = engine::read_needles(session, text, protocols.at(protocol_), generated_, feed);
        if (!answers) return nullptr;
        ordered_json all = ordered_json::array();
        for (const engine::NeedleAnswer& answer : *answers)
            all.push_back({{"chosen", answer.is_chosen},
                           {"generated", answer.is_generated ? ordered_json(*answer.is_generated) : ordered_json()},
                           {"held", answer.held},
                           {"losses", answer.losses}});
        return {{"budget", budget}, {"answers", all}, {"knows_question", session.policy().signals().any()}};
    }

    void add(const ordered_json& answers, const Haystack& haystack, PolicyResult& result) const
    {
        if (answers.at("answers").is_null()) {
            if (std::ranges::find(result.too_long, haystack.length) == result.too_long.end())
                result.too_long.push_back(haystack.length);
            return;
        }
        result.ignores_question = protocols.at(protocol_) == Protocol::Steered && !answers.at("knows_question");
        for (size_t i = 0; i < haystack.depths.size(); ++i) {
            const ordered_json& answer = answers.at("answers").at(i);
            Cell& cell = result.cells[{haystack.depths[i], haystack.length}];
            cell.chosen.add(answer.at("chosen"));
            if (!answer.at("generated").is_null()) cell.generated.add(answer.at("generated"));
            cell.loss += answer.at("losses").at(0).get<double>();
            cell.held += answer.at("held").get<double>();
            cell.budget = answers.at("budget");
        }
    }

    static std::string shorter(double number) // 50, 12.5
    {
        char text[32];
        std::snprintf(text, sizeof text, "%g", number);
        return text;
    }

    static std::string aligned(const std::string& text) // right
    {
        constexpr size_t width = 10;
        return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
    }

    std::string table(const std::vector<PolicyResult>& results, const CommandWording& wording) const
    {
        std::string out =
            wording.of(Text("{0}; the right number is the most likely of {1}, of which {2} are in the text\n",
                            protocol_, engine::Needle::answers_asked, numbers_in_text()));
        for (const PolicyResult& result : results) {
            out += '\n' + setting_name(result.setting, wording) + '\n';
            if (result.ignores_question)
                out += wording.of(Text("  it looks at no attention, so it read without knowing the question\n"));
            for (const uint64_t length : result.too_long)
                out += wording.of(Text("  {0} tokens: n/a, its lists cannot hold them\n", format_count(length)));
            if (result.cells.empty()) continue;
            out += grid(result, wording);
            Proportion chosen, generated;
            for (const auto& [at, cell] : result.cells) {
                for (const auto& [from, to] : {std::pair{&cell.chosen, &chosen}, {&cell.generated, &generated}}) {
                    to->right += from->right;
                    to->of += from->of;
                }
            }
            out += wording.of(
                Text("  all: {0} of {1} likeliest, {2}\n", chosen.right, chosen.of, shown_share(chosen)));
            if (generated.of > 0)
                out += wording.of(Text("  all: {0} of {1} generated, {2}\n", generated.right, generated.of,
                                       shown_share(generated)));
        }
        return out;
    }

    // How many of the ten numbers that a question offers stand in the text.
    size_t numbers_in_text() const
    {
        const size_t others = is_together_ ? depth_list().size() - 1 : 0;
        return std::min(engine::Needle::answers_asked, 1 + decoys_ + others);
    }

    static std::string grid(const PolicyResult& result, const CommandWording& wording)
    {
        std::vector<uint64_t> lengths;
        std::map<double, std::map<uint64_t, const Cell*>> rows;
        for (const auto& [at, cell] : result.cells) {
            rows[at.first][at.second] = &cell;
            if (std::ranges::find(lengths, at.second) == lengths.end()) lengths.push_back(at.second);
        }
        std::ranges::sort(lengths);
        std::string out = aligned(wording.of(Text("depth")));
        for (const uint64_t length : lengths)
            out += aligned(format_count(length));
        out += '\n';
        for (const auto& [depth, cells] : rows) {
            out += aligned(shorter(depth) + " %");
            for (const uint64_t length : lengths)
                out += aligned(cells.contains(length) ? percent(cells.at(length)->chosen.share()) : "n/a");
            out += '\n';
        }
        return out;
    }

    ordered_json json(const engine::Model& model, const std::vector<PolicyResult>& results) const
    {
        ordered_json all = ordered_json::array();
        for (const PolicyResult& result : results) {
            ordered_json cells = ordered_json::array();
            for (const auto& [at, cell] : result.cells) {
                const auto [low, high] = cell.chosen.interval();
                const double of = static_cast<double>(cell.chosen.of);
                cells.push_back(
                    {{"depth", at.first},
                     {"length", at.second},
                     {"budget", cell.budget},
                     {"asked", cell.chosen.of},
                     {"chosen", cell.chosen.right},
                     {"share", cell.chosen.share()},
                     {"interval", {low, high}},
                     {"generated", generated_ > 0 ? ordered_json(cell.generated.right) : ordered_json()},
                     {"mean_loss", cell.loss / of},
                     {"held", cell.held / of}});
            }
            all.push_back({{"policy", result.setting.policy},
                           {"budget", result.setting.budget},
                           {"too_long", result.too_long},
                           {"ignores_question", result.ignores_question},
                           {"cells", cells}});
        }
        return {{"schema", "palimpsest.needle/1"},
                {"protocol", protocol_},
                {"model", model_json(model)},
                {"wording", wording_},
                {"decoys", decoys_},
                {"together", is_together_},
                {"alternatives", engine::Needle::answers_asked},
                {"in_text", numbers_in_text()},
                {"results", all}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::vector<std::string> files_;
    PolicyGrid grid_;
    std::string lengths_ = "2k,4k,8k", depths_ = "0,25,50,75,100";
    std::string wording_ = "repeated", protocol_ = "blind", journal_;
    uint64_t trials_ = 1, seed_ = 0;
    size_t decoys_ = 0;
    bool is_together_ = false;
    int32_t generated_ = 0;
};

} // namespace

std::unique_ptr<Command> make_eval_needle(CLI::App& parent)
{
    return std::make_unique<EvalNeedle>(parent);
}

} // namespace palimpsest::app
