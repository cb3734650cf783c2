// `summarize` and `ask`: a document streams into the open user turn; then a question, and the model's answer.

#include <algorithm>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/model_choice.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/reading.h"
#include "engine/text/detokenizer.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;

struct Answer {
    std::string question, text;
    engine::GenerateResult generated;
};

const char* end_name(engine::GenerateEnd end)
{
    switch (end) {
    case engine::GenerateEnd::EndOfText:
        return "end_of_text";
    case engine::GenerateEnd::Length:
        return "length";
    case engine::GenerateEnd::Stopped:
        return "stop";
    case engine::GenerateEnd::Cancelled:
        return "cancelled";
    }
    return "";
}

// Text as it is generated, up to the first stop text; holds back what may be the beginning of one.
class AnswerText {
public:
    AnswerText(const engine::Tokenizer& tokenizer, std::vector<std::string> stops)
        : detokenizer_(tokenizer, false), stops_(std::move(stops))
    {
    }

    // False once a stop text has appeared.
    bool push(engine::TokenId id) { return take(detokenizer_.push(id)); }
    void finish()
    {
        take(detokenizer_.finish());
        if (!stopped_) said_ = text_.size();
    }
    // What may be shown since the last call.
    std::string fresh()
    {
        std::string part = text_.substr(shown_, said_ - shown_);
        shown_ = said_;
        return part;
    }
    std::string text() const { return text_.substr(0, said_); }

private:
    bool take(const std::string& part)
    {
        if (stopped_) return false;
        text_ += part;
        size_t held = 0, end = std::string::npos;
        for (const std::string& stop : stops_) {
            end = std::min(end, text_.find(stop, said_));
            for (size_t n = std::min(stop.size(), text_.size() - said_); n > held; --n)
                if (text_.ends_with(stop.substr(0, n))) {
                    held = n;
                    break;
                }
        }
        if (end != std::string::npos) {
            said_ = end;
            stopped_ = true;
            return false;
        }
        said_ = text_.size() - held;
        return true;
    }

    engine::IncrementalDetokenizer detokenizer_;
    std::vector<std::string> stops_;
    std::string text_;
    size_t said_ = 0;  // of text_: certain to come before any stop text
    size_t shown_ = 0; // of text_: handed out
    bool stopped_ = false;
};

class AnswerCommand : public Command {
public:
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }

protected:
    void define_common()
    {
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_sampling_options(*command_, common_);
        add_output_options(*command_, common_);
        command_->add_flag("--raw", raw_, "print control characters of the answer as they are");
    }

    std::unique_ptr<engine::Session> open(const std::vector<std::string>& files, Console& console)
    {
        model_ = load_model(common_);
        tokenizer_ = &require_tokenizer(*model_);
        template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_);
        for (const std::string& warning : model_->files().warnings)
            console.err << "note: " << visible(warning) << '\n';
        if (!template_->warning().empty()) console.err << "note: " << visible(template_->warning()) << '\n';
        return std::make_unique<engine::Session>(model_,
                                                 common_.session(model_->config(), count_input(files, console)));
    }

    // Streams the documents one after another into the open user turn.
    Coverage read(engine::Session& session, const std::vector<std::string>& files, Console& console,
                  Progress& progress)
    {
        Coverage all;
        session.feed(template_->open_user());
        for (size_t i = 0; i < files.size(); ++i) {
            Document document(files[i], console.in, console.stop);
            if (i > 0) session.feed(template_->next_document(document.title()));
            ReadOptions options{
                .first_text = i == 0 && template_->document_is_first_text(), .feed = {}, .progress = &progress};
            options.feed.stop = console.stop;
            const Coverage one = read_document(document, *tokenizer_, session, options);
            all.tokens_in_input += one.tokens_in_input;
            all.tokens_read += one.tokens_read;
            all.invalid_sequences += one.invalid_sequences;
            all.nul_characters += one.nul_characters;
        }
        if (all.tokens_in_input == 0)
            throw Error(ErrorKind::Failed, "PAL-DOC-03", printable(files[0]), "it has no text",
                        "give a document with text");
        if (!session.finish({.stop = console.stop, .progress = {}, .loss = {}}))
            throw Interrupted{"stopped while reading; nothing was saved, run it again to start over"};
        return all;
    }

    // Puts the question to the session and generates; text goes out as it comes unless a JSON document is wanted.
    // `follow_up`: it comes after an answer, not after the document.
    Answer answer(engine::Session& session, const std::string& question, bool follow_up, int32_t default_length,
                  Console& console, Progress& progress)
    {
        Answer result{question, {}, {}};
        session.feed(follow_up ? template_->message(question, false) : template_->question(question));
        session.feed(template_->close_user_open_assistant());
        AnswerText text(*tokenizer_, common_.stop);
        const auto show = [&] {
            std::string part = text.fresh();
            if (part.empty()) return;
            progress.event({{"event", "token"}, {"text", part}});
            if (!common_.json) console.out << (raw_ ? part : visible(part)) << std::flush;
        };
        result.generated = session.generate({.max_tokens = common_.max_tokens ? common_.max_tokens : default_length,
                                             .stop = console.stop,
                                             .token =
                                                 [&](engine::TokenId id) {
                                                     const bool go_on = text.push(id);
                                                     show();
                                                     return go_on && console.out.good();
                                                 },
                                             .is_end = [&](engine::TokenId id) { return tokenizer_->is_end(id); }});
        text.finish();
        show();
        result.text = text.text();
        if (!common_.json) {
            console.out << '\n';
            finish_output(console.out);
        }
        if (result.generated.end == engine::GenerateEnd::Cancelled)
            throw Interrupted{"stopped after " + std::to_string(result.generated.tokens.size()) +
                              " tokens of the answer"};
        progress.event({{"event", "answer"}, {"text", result.text}, {"end", end_name(result.generated.end)}});
        return result;
    }

    void receipt(const engine::Session& session, const Coverage& coverage, const std::vector<Answer>& answers,
                 Console& console) const
    {
        for (const Answer& a : answers)
            if (a.generated.end == engine::GenerateEnd::Length)
                console.err << "answer:   cut after " << a.generated.tokens.size()
                            << " tokens; give a larger --max-tokens for more\n";
        console.err << "coverage: " << coverage.sentence() << '\n'
                    << "reach:    " << reach_sentence(session.retention()) << '\n'
                    << "memory:   " << memory_sentence(session) << '\n'
                    << std::flush;
    }

    ordered_json json(const engine::Session& session, const Coverage& coverage,
                      const std::vector<std::string>& files, const std::vector<Answer>& answers) const
    {
        ordered_json list = ordered_json::array();
        for (const Answer& a : answers)
            list.push_back({{"question", a.question},
                            {"text", a.text},
                            {"end", end_name(a.generated.end)},
                            {"tokens", a.generated.tokens.size()}});
        return {{"schema", "palimpsest.answer/1"},
                {"documents", files},
                {"answers", list},
                {"coverage", coverage.json()},
                {"reach", reach_json(session.retention())},
                {"memory", memory_json(session.telemetry())},
                {"model", model_json(*model_)},
                {"policy", policy_json(session)},
                {"question_awareness", "blind"},
                {"seed", common_.sampler.seed},
                {"backend", {{"name", model_->backend().name()}, {"simd", model_->backend().simd_target()}}},
                {"version", PALIMPSEST_VERSION}};
    }

    std::optional<uint64_t> count_input(const std::vector<std::string>& files, Console& console) const
    {
        if (!common_.budget_is_share()) return std::nullopt;
        uint64_t tokens = 0;
        for (const std::string& file : files) {
            if (file == "-") return std::nullopt;
            Document document(file, console.in, console.stop);
            Coverage coverage;
            encode_document(document, *tokenizer_, true, coverage);
            tokens += coverage.tokens_in_input;
        }
        return tokens;
    }

    Progress progress_for(const std::vector<std::string>& files, Console& console) const
    {
        std::optional<uint64_t> bytes;
        if (files.size() == 1) bytes = Document(files[0], console.in).total_bytes();
        return Progress(console, Progress::style_for(console, common_.events),
                        files.size() == 1 ? files[0] : std::to_string(files.size()) + " documents", bytes);
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    bool raw_ = false;
    std::shared_ptr<const engine::Model> model_;
    const engine::Tokenizer* tokenizer_ = nullptr;
    std::unique_ptr<engine::ChatTemplate> template_;
};

class Summarize final : public AnswerCommand {
public:
    explicit Summarize(CLI::App& parent)
    {
        command_ = parent.add_subcommand("summarize", "read documents and write a summary");
        command_->add_option("FILE", files_, "text or Markdown files, or - for standard input")->required();
        command_->add_option("--prompt", prompt_, "what to ask for")->capture_default_str();
        command_->add_flag("--each", each_, "a summary of each document instead of one of all");
        define_common();
    }

    void run(Console& console) override
    {
        ordered_json all = ordered_json::array();
        if (each_)
            for (const std::string& file : files_)
                all.push_back(summarize({file}, console));
        else
            all.push_back(summarize(files_, console));
        if (common_.json) write_json(console.out, each_ ? all : all[0]);
    }

private:
    ordered_json summarize(const std::vector<std::string>& files, Console& console)
    {
        constexpr int32_t summary_tokens = 512;
        Coverage coverage;
        std::unique_ptr<engine::Session> session;
        {
            Progress progress = progress_for(files, console);
            session = open(files, console);
            coverage = read(*session, files, console, progress);
        }
        check_complete(coverage, common_.require_complete, files[0]);
        if (each_ && !common_.json) console.out << visible(files[0]) << ":\n";
        const auto fork = session->fork();
        Progress events(console, common_.events ? Progress::Style::Events : Progress::Style::Silent, "",
                        std::nullopt);
        const std::vector<Answer> answers = {answer(*fork, prompt_, false, summary_tokens, console, events)};
        if (common_.json) return json(*session, coverage, files, answers);
        receipt(*session, coverage, answers, console);
        return {};
    }

    std::vector<std::string> files_;
    std::string prompt_ = "Summarize the text above.";
    bool each_ = false;
};

class Ask final : public AnswerCommand {
public:
    explicit Ask(CLI::App& parent)
    {
        command_ = parent.add_subcommand("ask", "read a document and answer questions about it");
        command_->add_option("FILE", file_, "a text or Markdown file, or - for standard input")->required();
        command_->add_option("QUESTION", questions_, "each is answered from the same reading")->required();
        command_->add_flag("--continue", continue_, "let each question see the ones before it");
        define_common();
    }

    void run(Console& console) override
    {
        constexpr int32_t answer_tokens = 256;
        Coverage coverage;
        std::unique_ptr<engine::Session> session;
        {
            Progress progress = progress_for({file_}, console);
            session = open({file_}, console);
            coverage = read(*session, {file_}, console, progress);
        }
        check_complete(coverage, common_.require_complete, file_);
        Progress events(console, common_.events ? Progress::Style::Events : Progress::Style::Silent, "",
                        std::nullopt);
        std::vector<Answer> answers;
        const auto talk = continue_ ? session->fork() : nullptr;
        for (const std::string& question : questions_) {
            if (!common_.json && questions_.size() > 1) console.out << "Q: " << visible(question) << "\nA: ";
            const auto fresh = continue_ ? nullptr : session->fork();
            const bool follow_up = continue_ && !answers.empty();
            answers.push_back(answer(fresh ? *fresh : *talk, question, follow_up, answer_tokens, console, events));
            if (continue_) talk->feed(template_->close_assistant_open_user());
        }
        if (common_.json)
            write_json(console.out, json(*session, coverage, {file_}, answers));
        else
            receipt(*session, coverage, answers, console);
    }

private:
    std::string file_;
    std::vector<std::string> questions_;
    bool continue_ = false;
};

} // namespace

std::unique_ptr<Command> make_summarize(CLI::App& parent)
{
    return std::make_unique<Summarize>(parent);
}

std::unique_ptr<Command> make_ask(CLI::App& parent)
{
    return std::make_unique<Ask>(parent);
}

} // namespace palimpsest::app
