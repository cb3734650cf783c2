// `eval recall`: what a session still knows of the user's own document: sentences of it with a word to be chosen,
// by policy, budget and depth, beside what the model guesses without the document.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/journal.h"
#include "app/palimpsest/long_measurement.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/policy_grid.h"
#include "app/palimpsest/shown_share.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/answer_choice.h"
#include "engine/eval/cloze.h"
#include "engine/eval/proportion.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/document.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using engine::Cloze;
using engine::Proportion;
using engine::TokenId;
using nlohmann::ordered_json;
using storage::model_json;

struct Question {
    std::string document, sentence, answer; // the sentence up to the answer
    double depth = 0;                       // share of the text before the answer
    std::vector<TokenId> before;
    std::vector<std::vector<TokenId>> answers; // the first is right

    uint64_t tokens() const // that are fed for it, about
    {
        uint64_t sum = before.size();
        for (const std::vector<TokenId>& one : answers)
            sum += one.size();
        return sum;
    }
};

struct AskedDocument {
    std::string name;
    std::vector<TokenId> ids; // with BOS
    uint64_t added = 0;       // ids before the document's own
    std::string key;          // in the journal
    std::vector<Question> questions;

    uint64_t asked() const // tokens
    {
        uint64_t sum = 0;
        for (const Question& question : questions)
            sum += question.tokens();
        return sum;
    }
    uint64_t longest_question() const
    {
        size_t most = 0;
        for (const Question& question : questions)
            for (const std::vector<TokenId>& answer : question.answers)
                most = std::max(most, question.before.size() + answer.size());
        return most;
    }
};

constexpr size_t parts = 5; // of a text, by depth

struct Recall {
    Proportion all;
    std::array<Proportion, parts> by_depth;
    double loss = 0;          // sum
    std::vector<bool> chosen; // per question

    void add(const Question& question, const ordered_json& answer)
    {
        const bool is_chosen = answer.at("chosen");
        chosen.push_back(is_chosen);
        all.add(is_chosen);
        by_depth[std::min(parts - 1, static_cast<size_t>(question.depth * parts))].add(is_chosen);
        loss += answer.at("losses").at(0).get<double>();
    }
};

struct PolicyRecall {
    PolicyAndBudget setting;
    Recall recall;
    std::vector<std::string> too_long{}; // documents that its lists cannot hold
};

class EvalRecall final : public Command {
public:
    explicit EvalRecall(CLI::App& parent)
    {
        command_ = parent.add_subcommand("recall",
                                         "whether a document's own names, numbers and rare words are still known");
        command_->add_option("FILE", files_, "documents")->required();
        grid_.add_options(*command_);
        add_first_option(*command_, first_);
        command_->add_option("--questions", questions_, "sentences to ask for, spread over each document")
            ->capture_default_str()
            ->check(CLI::Range(1, 100000));
        command_->add_option("--seed", seed_, "chooses the sentences and the words beside the right one")
            ->capture_default_str();
        add_cache_options(*command_, common_);
        add_measurement_options(*command_, common_, journal_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        const auto model = load_chosen_model(common_, console);
        std::vector<AskedDocument> documents;
        for (const std::string& file : files_)
            documents.push_back(read_document(file, *model, console));
        std::vector<PolicyRecall> results;
        for (const PolicyAndBudget& setting : grid_.all(common_))
            results.push_back({.setting = setting, .recall = {}});
        for (const PolicyRecall& result : results)
            for (const AskedDocument& document : documents)
                options_for(*model, document, result.setting); // what does not fit is found before hours of reading
        Journal journal(journal_, measurement(*model));
        Recall without_text;
        measure(model, documents, without_text, results, journal, console);
        if (common_.json)
            write_json(console.out, json(*model, documents, without_text, results));
        else
            console.out << table(without_text, results, console.wording);
    }

private:
    AskedDocument read_document(const std::string& file, const engine::Model& model, Console& console) const
    {
        const uint64_t most = most_tokens(first_);
        const engine::Tokenizer& tokenizer = storage::require_tokenizer(model);
        storage::Document document(file, console.in, console.stop);
        AskedDocument asked{.name = file, .ids = {}, .added = 0, .key = {}, .questions = {}};
        if (tokenizer.adds_bos()) asked.ids.push_back(tokenizer.bos());
        asked.added = asked.ids.size();
        std::string text;
        size_t read = 0; // bytes
        storage::Coverage coverage;
        storage::encode_document(document, tokenizer, true, coverage,
                                 [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                                     text += clean;
                                     for (const engine::EncodedToken& token : tokens) {
                                         if (asked.ids.size() - asked.added == most) return;
                                         asked.ids.push_back(token.id);
                                         read = token.end;
                                     }
                                 });
        ConsoleListener listener(console, common_.events);
        storage::report_notes(document, listener);
        text.resize(std::min(text.size(), read));
        for (const Cloze& cloze : engine::make_clozes(text, questions_, seed_))
            asked.questions.push_back(question_of(cloze, file, text.size(), tokenizer));
        std::vector<TokenId> all = asked.ids;
        for (const Question& question : asked.questions)
            for (const std::vector<TokenId>& answer : question.answers)
                all.insert(all.end(), answer.begin(), answer.end());
        asked.key = input_key(file, all);
        if (asked.questions.empty())
            throw Error(
                ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(file),
                Text("it has no sentence to ask for: none has a name, a number or a rare word behind words that "
                     "stand there alone"),
                Text("give a longer document whose words are separated by spaces"));
        return asked;
    }

    // The question stands apart from the text that was read last.
    static Question question_of(const Cloze& cloze, const std::string& document, size_t bytes,
                                const engine::Tokenizer& tokenizer)
    {
        Question question{.document = document,
                          .sentence = cloze.before,
                          .answer = cloze.answers[0].substr(1),
                          .depth = static_cast<double>(cloze.at.begin) / static_cast<double>(bytes),
                          .before = tokenizer.encode("\n\n" + cloze.before, false),
                          .answers = {}};
        for (const std::string& answer : cloze.answers)
            question.answers.push_back(tokenizer.encode(answer + cloze.after, false));
        return question;
    }

    ordered_json measurement(const engine::Model& model) const
    {
        ordered_json all = measurement_of("recall", model, common_);
        all.update({{"first", most_tokens(first_)}, {"questions", questions_}, {"seed", seed_}});
        return all;
    }

    void measure(const std::shared_ptr<const engine::Model>& model, const std::vector<AskedDocument>& documents,
                 Recall& without_text, std::vector<PolicyRecall>& results, Journal& journal, Console& console) const
    {
        uint64_t tokens = 0;
        for (const AskedDocument& document : documents)
            tokens += document.asked() + (document.ids.size() + document.asked()) * results.size();
        LongMeasurement measurement(console, common_.events, "recall", tokens, journal);
        for (const AskedDocument& document : documents) {
            const ordered_json found = measurement.part("without text|" + document.key, document.asked(),
                                                        [&](const LongMeasurement::Report& report) {
                                                            return guess(model, document, report, console.stop);
                                                        });
            for (size_t i = 0; i < document.questions.size(); ++i)
                without_text.add(document.questions[i], found.at("answers").at(i));
        }
        for (PolicyRecall& result : results)
            for (const AskedDocument& document : documents) {
                const std::string key = result.setting.policy + "|" + result.setting.budget + "|" + document.key;
                const ordered_json found = measurement.part(
                    key, document.ids.size() + document.asked(), [&](const LongMeasurement::Report& report) {
                        return read(model, document, result.setting, report, console.stop);
                    });
                add(found, document, result);
            }
    }

    engine::SessionOptions options_for(const engine::Model& model, const AskedDocument& document,
                                       const PolicyAndBudget& setting) const
    {
        return options_to_measure(setting.options(common_), model, document.ids, document.added,
                                  document.longest_question(), document.name);
    }

    // Null: stopped.
    ordered_json guess(const std::shared_ptr<const engine::Model>& model, const AskedDocument& document,
                       const LongMeasurement::Report& report, const std::stop_token& stop) const
    {
        CommonOptions common = common_;
        common.policy = "full";
        common.budget = std::to_string(document.added + document.longest_question());
        common.chunk = std::min<int32_t>(common.chunk, static_cast<int32_t>(document.longest_question()));
        common.pins = {};
        const auto before = std::span(document.ids).first(document.added);
        engine::Session session(model, options_to_measure(common, *model, before, document.added,
                                                          document.longest_question(), document.name));
        session.feed(before);
        return answers(session, document, report, stop);
    }

    // Null: stopped.
    static ordered_json answers(engine::Session& session, const AskedDocument& document,
                                const LongMeasurement::Report& report, const std::stop_token& stop)
    {
        engine::Telemetry now = session.telemetry();
        ordered_json all = ordered_json::array();
        for (const Question& question : document.questions) {
            const auto choice = engine::choose_answer(session, question.before, question.answers, stop);
            if (!choice) return nullptr;
            all.push_back({{"chosen", choice->best() == 0}, {"losses", choice->losses}});
            now.tokens_seen += question.tokens();
            report(session, now);
        }
        return {{"answers", all}};
    }

    // Null: stopped. Null as "answers": the lists cannot hold the text.
    ordered_json read(const std::shared_ptr<const engine::Model>& model, const AskedDocument& document,
                      const PolicyAndBudget& setting, const LongMeasurement::Report& report,
                      const std::stop_token& stop) const
    {
        engine::Session session(model, options_for(*model, document, setting));
        const ordered_json budget = budget_json(session);
        const uint64_t stream = document.ids.size() + document.longest_question();
        if (!session.policy().bounded() && stream > static_cast<uint64_t>(session.policy().capacity()))
            return {{"budget", budget}, {"answers", nullptr}};
        const engine::FeedOptions feed{
            .stop = stop, .progress = [&](const engine::Telemetry& now) { report(session, now); }, .loss = {}};
        if (!session.feed(document.ids, feed) || !session.finish(feed)) return nullptr;
        ordered_json result = answers(session, document, report, stop);
        if (!result.is_null()) result["budget"] = budget;
        return result;
    }

    static void add(const ordered_json& found, const AskedDocument& document, PolicyRecall& result)
    {
        if (found.at("answers").is_null()) return result.too_long.push_back(document.name);
        for (size_t i = 0; i < document.questions.size(); ++i)
            result.recall.add(document.questions[i], found.at("answers").at(i));
    }

    static std::string row(const std::string& name, const Recall& recall, const CommandWording& wording)
    {
        std::string out = "  " + wording.of(Text("{0} of {1} likeliest, {2}", recall.all.right, recall.all.of,
                                                 shown_share(recall.all)));
        out += "\n  " + wording.of(Text("by depth:"));
        for (const Proportion& part : recall.by_depth)
            out += part.of == 0 ? " -" : " " + percent(part.share());
        return name + '\n' + out + '\n';
    }

    static std::string table(const Recall& without_text, const std::vector<PolicyRecall>& results,
                             const CommandWording& wording)
    {
        std::string out = wording.of(Text("the right word is the most likely of {0}\n\n", Cloze::answers_asked));
        out += row(wording.of(Text("without the text")), without_text, wording);
        for (const PolicyRecall& result : results) {
            const std::string name = setting_name(result.setting, wording);
            out += '\n';
            out += result.recall.all.of > 0 ? row(name, result.recall, wording) : name + '\n';
            for (const std::string& document : result.too_long)
                out += wording.of(Text("  {0}: n/a, its lists cannot hold it\n", Text::escaped(document)));
        }
        return out;
    }

    static ordered_json recall_json(const Recall& recall)
    {
        const auto [low, high] = recall.all.interval();
        ordered_json by_depth = ordered_json::array();
        for (const Proportion& part : recall.by_depth)
            by_depth.push_back({{"asked", part.of}, {"chosen", part.right}});
        const bool is_asked = recall.all.of > 0;
        return {{"asked", recall.all.of},
                {"chosen", recall.all.right},
                {"share", is_asked ? ordered_json(recall.all.share()) : ordered_json()},
                {"interval", {low, high}},
                {"mean_loss",
                 is_asked ? ordered_json(recall.loss / static_cast<double>(recall.all.of)) : ordered_json()},
                {"by_depth", by_depth},
                {"answers", recall.chosen}};
    }

    static ordered_json json(const engine::Model& model, const std::vector<AskedDocument>& documents,
                             const Recall& without_text, const std::vector<PolicyRecall>& results)
    {
        ordered_json questions = ordered_json::array();
        for (const AskedDocument& document : documents)
            for (const Question& question : document.questions)
                questions.push_back({{"document", question.document},
                                     {"depth", question.depth},
                                     {"sentence", question.sentence},
                                     {"answer", question.answer}});
        ordered_json all = ordered_json::array();
        for (const PolicyRecall& result : results) {
            ordered_json one = {{"policy", result.setting.policy},
                                {"budget", result.setting.budget},
                                {"too_long", result.too_long}};
            one.update(recall_json(result.recall));
            all.push_back(one);
        }
        return {{"schema", "palimpsest.recall/1"},           {"model", model_json(model)},
                {"alternatives", Cloze::answers_asked},      {"questions", questions},
                {"without_text", recall_json(without_text)}, {"results", all}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    PolicyGrid grid_;
    std::vector<std::string> files_;
    std::string first_, journal_;
    uint64_t questions_ = 50, seed_ = 0;
};

} // namespace

std::unique_ptr<Command> make_eval_recall(CLI::App& parent)
{
    return std::make_unique<EvalRecall>(parent);
}

} // namespace palimpsest::app
