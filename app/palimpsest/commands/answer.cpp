// `summarize` and `ask`: feed a document into the open user turn, then a question, and generate the answer.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/indexed_store.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/receipt.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/session/answer_support.h"
#include "storage/session/answer_text.h"
#include "storage/session/document.h"
#include "storage/session/document_indexing.h"
#include "storage/session/encoded_import.h"
#include "storage/session/framed_turn.h"
#include "storage/session/installed_encoder.h"
#include "storage/session/listener.h"
#include "storage/session/pinning.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/reading_meter.h"
#include "storage/session/rereading.h"
#include "storage/session/session_report.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"

namespace palimpsest::app {
namespace {

constexpr const char* steer_option = "--steer";

using nlohmann::ordered_json;
using storage::AnswerSupport;
using storage::AnswerText;
using storage::check_complete;
using storage::Coverage;
using storage::Document;
using storage::Documents;
using storage::documents_in;
using storage::encode_document;
using storage::encode_documents;
using storage::EncodedImport;
using storage::end_name;
using storage::frame_turn;
using storage::Interrupted;
using storage::make_room_for;
using storage::memory_json;
using storage::model_json;
using storage::name_of;
using storage::open_documents;
using storage::open_store;
using storage::pins_json;
using storage::pins_of;
using storage::policy_json;
using storage::Protocol;
using storage::question_turn;
using storage::reach_json;
using storage::read_document;
using storage::ReadingMeter;
using storage::ReadOptions;
using storage::require_question;
using storage::require_tokenizer;
using storage::Rereading;
using storage::RereadMode;
using storage::SessionStream;
using storage::steer;
using storage::Store;
using storage::StoredOptions;
using storage::StoredSession;
using storage::StreamDocument;
using storage::StreamFraming;
using storage::StreamMessage;
using storage::support_of;

struct Answer {
    std::string question, text;
    engine::GenerateResult generated;
    ordered_json reach; // set if the document is read for each question
    Rereading found{};  // for the question
    AnswerSupport support{};
};

// A session that has read the documents, and how much of them it has read.
struct Reading {
    std::unique_ptr<engine::Session> session;
    Coverage coverage;
    SessionStream stream;
};

class AnswerCommand : public Command {
public:
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

protected:
    void define_common()
    {
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_sampling_options(*command_, common_);
        add_system_option(*command_, common_);
        add_output_options(*command_, common_);
        command_->add_flag("--raw", raw_, "print control characters of the answer as they are");
        add_session_option(*command_, session_);
        add_database_option(*command_, database_);
        command_->add_flag("--recompute", recompute_,
                           "compute the session again from its text if no saved state can be used");
    }

    Protocol protocol() const
    {
        return steer_ ? Protocol::Steered : question_last_ ? Protocol::QuestionLast : Protocol::Blind;
    }

    // REQUIRES: not the blind protocol.
    Text protocol_option() const { return steer_ ? Text::verbatim(steer_option) : Text(Setting::QuestionLast); }

    void load(Console& console)
    {
        model_ = load_chosen_model(common_, console, 2); // the session and its copy for an answer
        tokenizer_ = &require_tokenizer(*model_);
        const engine::FramingOptions framing{.system = common_.system, .date = storage::today()};
        own_template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_, framing);
        template_ = own_template_.get();
        warn(console);
    }

    // Opens the stored session; with Access::Read, questions do not change it.
    void open_stored(storage::Database::Access access, Console& console,
                     const std::optional<std::string>& question = std::nullopt)
    {
        listener_ = std::make_unique<ConsoleListener>(console, common_.events);
        store_ = open_for(access, console);
        StoredOptions options{.choice = common_, .recompute = recompute_};
        options.question = question;
        options.question_option = Text::verbatim(steer_option);
        options.rereading = common_.rereading();
        options.read_only = access == storage::Database::Access::Read;
        stored_ = std::make_unique<StoredSession>(*store_, session_, options, *listener_);
        model_ = stored_->shared_model();
        tokenizer_ = &stored_->tokenizer();
        template_ = &stored_->chat_template();
        warn(console);
    }

    // Opens the database. For reading, passages of the session's documents that are missing are made first.
    std::unique_ptr<Store> open_for(storage::Database::Access access, Console& console)
    {
        if (access == storage::Database::Access::Write || !rereads())
            return open_store(database_, access, console.stop);
        return open_indexed_store(
            database_,
            [&](Store& store) {
                const auto session = store.conversations.find(session_);
                return session ? documents_in(SessionStream(store.conversations.stream(session->id)))
                               : std::vector<int64_t>();
            },
            encoder(), *listener_);
    }

    // Null if nothing is read again, or without an installed encoder. An opened session has one of its own.
    storage::PassageEncoder* encoder()
    {
        if (!rereads()) return nullptr;
        return encoder_.get(model_ ? storage::shared_by_encoder(*model_) : nullptr, *listener_);
    }

    void warn(Console& console) const
    {
        for (const Text& warning : model_->files().warnings)
            write_note(console, common_.events, warning);
        const bool was_said = stored_ && stored_->is_new() && !stored_->system().empty();
        if (!was_said && !template_->warning().empty()) write_note(console, common_.events, template_->warning());
    }

    std::unique_ptr<engine::Session> start(const Documents& documents, const std::string& question) const
    {
        const auto tokens = common_.budget_is_share() ? count_tokens(documents) : std::nullopt;
        engine::SessionOptions options = common_.session(model_->config(), {.input = tokens});
        std::vector<uint64_t> framing;
        for (const auto& document : documents)
            framing.push_back(framing.empty() ? template_->open_user().size()
                                              : template_->next_document(document->title()).size());
        options.pins = pins_of(common_.pins, documents, template_->document_is_first_text(), framing, *model_);
        if (protocol() != Protocol::Steered) return std::make_unique<engine::Session>(model_, options);
        const auto rows = question_turn(*template_, question);
        make_room_for(rows, model_->config(), Text::verbatim(steer_option), options);
        auto session = std::make_unique<engine::Session>(model_, options);
        steer(*session, rows, Text::verbatim(steer_option));
        return session;
    }

    // Feeds the documents, one after another, into one user turn; for Protocol::QuestionLast, then the question.
    Reading read(const Documents& documents, const std::string& question, Console& console) const
    {
        Reading reading{start(documents, question), {}, {}};
        engine::Session& session = *reading.session;
        reading.coverage = read(session, documents, reading.stream, console);
        const engine::FeedOptions feed{.stop = console.stop, .progress = {}, .loss = {}};
        const bool last = protocol() == Protocol::QuestionLast;
        if ((last && !session.feed(question_turn(*template_, question), feed)) || !session.finish(feed))
            throw Interrupted{Text("stopped while reading; nothing was saved, run it again to start over")};
        return reading;
    }

    // Appends what it feeds to `stream`. The documents are also stored in store_ if passages may be read again.
    Coverage read(engine::Session& session, const Documents& documents, SessionStream& stream,
                  Console& console) const
    {
        ConsoleListener listener(console, common_.events);
        ReadingMeter progress(listener,
                              documents.size() == 1 ? documents[0]->name()
                                                    : console.wording.of(Text("{0} documents", documents.size())),
                              total_bytes(documents));
        Coverage all;
        uint64_t bytes_before = 0;
        for (size_t i = 0; i < documents.size(); ++i) {
            Document& document = *documents[i];
            const StreamFraming framing{.ids = i == 0 ? template_->open_user()
                                                      : template_->next_document(document.title())};
            session.feed(framing.ids);
            stream.append(framing);
            std::optional<EncodedImport> import;
            if (store_) import.emplace(store_->database, document, document.name(), model_->fingerprint());
            ReadOptions options{.first_text = i == 0 && template_->document_is_first_text(),
                                .bytes_before = bytes_before,
                                .sink = {},
                                .feed = {},
                                .progress = &progress};
            options.feed.stop = console.stop;
            if (import)
                options.sink = [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                    import->push(clean, tokens);
                };
            const Coverage one = read_document(document, *tokenizer_, session, options);
            const auto id = import ? import->finish(one, [&] { return !console.stop.stop_requested(); }) : 0;
            if (!id)
                throw Interrupted{Text("stopped while reading; nothing was saved, run it again to start over")};
            stream.append(StreamDocument{.id = *id, .tokens = one.tokens_read});
            bytes_before += document.total_bytes().value_or(0);
            all.tokens_in_input += one.tokens_in_input;
            all.tokens_read += one.tokens_read;
            all.invalid_sequences += one.invalid_sequences;
            all.nul_characters += one.nul_characters;
        }
        if (all.tokens_in_input == 0)
            throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(documents[0]->name()),
                        Text("it has no text"), Text("give a document with text"));
        return all;
    }

    bool rereads() const
    {
        return asks_ && protocol() != Protocol::QuestionLast && common_.rereading().mode != RereadMode::Never;
    }

    // Finds the passages that are fed again before a question. `stream`: all that the session has read.
    Rereading look_up(const engine::Session& session, const SessionStream& stream, const std::string& question)
    {
        if (!rereads()) return {};
        storage::FindingMeans means{.model = model_, .listener = listener_.get(), .stop = listener_->stop()};
        bool go_on = true;
        if (storage::PassageEncoder* with = encoder())
            encoder_.use(*with, *listener_, [&] {
                if (!stored_)
                    go_on = encode_documents(*store_, documents_in(stream), *with, *listener_, listener_->stop());
                means.meaning = with->meaning_of(question, listener_->stop());
            });
        if (!go_on) throw Interrupted{Text("stopped before the answer")};
        Rereading found = plan_rereading(*store_, stream, session, question, common_.rereading(), means);
        if (!found.empty()) listener_->found(found, *store_);
        return found;
    }

    // Ids to feed for a question after `stream`, with what is read again.
    std::vector<engine::TokenId> turn(const SessionStream& stream, const std::string& question,
                                      const Rereading& found) const
    {
        if (protocol() == Protocol::QuestionLast) return {}; // read() has fed the question
        return frame_turn(*template_, stream, question,
                          found.read.empty() ? std::vector<storage::QuotedPassage>() : found.quoted(*store_))
            .ids;
    }

    // Forks the session for an answer, with this run's sampling and without question rows: a stored session has the
    // sampling of its last chat, and nothing that follows is a document.
    std::unique_ptr<engine::Session> copy(engine::Session& session) const
    {
        auto fork = session.fork();
        fork->set_sampler(common_.sampler);
        fork->set_question_ids({});
        return fork;
    }

    // Feeds the question and generates the answer; prints the text while it is generated, unless --json is given.
    Answer answer(engine::Session& session, const std::string& question,
                  const std::vector<engine::TokenId>& turn_ids, int32_t default_length, Console& console) const
    {
        Answer result{.question = question, .text = {}, .generated = {}, .reach = {}};
        if (!session.feed(turn_ids, {.stop = console.stop, .progress = {}, .loss = {}}))
            throw Interrupted{Text("stopped before the answer")};
        AnswerText text(*tokenizer_, common_.stop);
        const auto show = [&] {
            std::string part = text.fresh();
            if (part.empty()) return;
            if (common_.events) write_event(console.err, {{"event", "token"}, {"text", part}});
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
            throw Interrupted{Text("stopped after {0} tokens of the answer", result.generated.tokens.size())};
        if (common_.events)
            write_event(console.err,
                        {{"event", "answer"}, {"text", result.text}, {"end", end_name(result.generated.end)}});
        return result;
    }

    void receipt(const engine::Session& session, const Coverage& coverage, const std::vector<Answer>& answers,
                 Console& console) const
    {
        for (const Answer& a : answers)
            if (!common_.events && a.generated.end == engine::GenerateEnd::Full)
                console.err << console.wording.of(Text(
                                   "answer:   cut after {0} tokens: the cache is full; use a policy with a budget",
                                   a.generated.tokens.size()))
                            << '\n';
            else if (!common_.events && a.generated.end == engine::GenerateEnd::Length)
                console.err << console.wording.of(
                                   Text("answer:   cut after {0} tokens; give a larger --max-tokens for more",
                                        a.generated.tokens.size()))
                            << '\n';
        write_receipt(console, common_.events, session, coverage, shown_protocol());
    }

    // A stored session keeps the protocol it was begun with.
    Protocol shown_protocol() const
    {
        return stored_ && !stored_->question().empty() ? Protocol::Steered : protocol();
    }

    ordered_json json(const engine::Session& session, const Coverage& coverage,
                      const std::vector<std::string>& files, const std::vector<Answer>& answers) const
    {
        ordered_json list = ordered_json::array();
        for (const Answer& a : answers) {
            list.push_back({{"question", a.question},
                            {"text", a.text},
                            {"end", end_name(a.generated.end)},
                            {"tokens", a.generated.tokens.size()}});
            if (!a.reach.is_null()) list.back()["reach"] = a.reach;
            if (!asks_) continue;
            list.back().update({{"reread", nullptr}, {"quote", nullptr}, {"unsupported", ordered_json::array()}});
            if (!rereads()) continue;
            list.back()["reread"] = a.found.json(*store_);
            add_support(list.back(), a.support, *store_);
        }
        ordered_json result = {
            {"schema", "palimpsest.answer/1"},
            {"documents", files},
            {"prompt", prompt_},
            {"answers", list},
            {"coverage", coverage.json()},
            {"reach", reach_json(session.retention())},
            {"memory", memory_json(session.telemetry())},
            {"model", model_json(*model_)},
            {"policy", policy_json(session)},
            {"pins", pins_json(session)},
            {"protocol", name_of(shown_protocol())},
            {"seed", common_.sampler.seed},
            {"temperature", common_.sampler.temperature},
            {"backend", backend_json(stored_ ? stored_->model() : *model_, stored_ ? stored_->lost_device() : "")},
            {"version", PALIMPSEST_VERSION}};
        if (stored_) {
            if (!stored_->question().empty()) result["question"] = stored_->question();
            result["tokens_fed_again"] = stored_->tokens_fed_again();
            result["bytes_written"] = stored_->bytes_written();
        }
        return result;
    }

    // Counts tokens in an extra pass; nullopt if a document can be read only once.
    std::optional<uint64_t> count_tokens(const Documents& documents) const
    {
        if (!total_bytes(documents)) return std::nullopt;
        uint64_t tokens = 0;
        for (const auto& document : documents) {
            Document again = document->again();
            Coverage coverage;
            encode_document(again, *tokenizer_, true, coverage);
            tokens += coverage.tokens_in_input;
        }
        return tokens;
    }

    static std::optional<uint64_t> total_bytes(const Documents& documents)
    {
        uint64_t total = 0;
        for (const auto& document : documents) {
            if (!document->total_bytes()) return std::nullopt;
            total += *document->total_bytes();
        }
        return total;
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    bool raw_ = false, steer_ = false, question_last_ = false;
    bool asks_ = false;  // questions about a part of the text, for which passages may be read again
    std::string prompt_; // template of the question
    std::shared_ptr<const engine::Model> model_;
    const engine::Tokenizer* tokenizer_ = nullptr;
    const engine::ChatTemplate* template_ = nullptr;
    std::string session_, database_;
    bool recompute_ = false;
    std::unique_ptr<Store> store_;              // in memory without --session; null if nothing is read again
    std::unique_ptr<ConsoleListener> listener_; // stored_ refers to it
    std::unique_ptr<StoredSession> stored_;     // set with --session
    storage::InstalledEncoder encoder_;

private:
    std::unique_ptr<engine::ChatTemplate> own_template_;
};

class Summarize final : public AnswerCommand {
public:
    explicit Summarize(CLI::App& parent)
    {
        command_ = parent.add_subcommand("summarize", "read documents and write a summary");
        command_->add_option("FILE", files_, "text or Markdown files, or - for standard input")->required();
        prompt_ = "Summarize the text above.";
        command_->add_option("--prompt", prompt_, "what to ask for")->capture_default_str();
        command_->add_flag("--each", each_, "a summary of each document instead of one of all");
        common_.sampler.repeat_penalty = summary_repeat_penalty;
        define_common();
        auto* steer = command_->add_flag("--steer", steer_,
                                         "read with the prompt in mind: its rows look at every chunk, so that "
                                         "the policy keeps what they attend to");
        command_
            ->add_flag("--question-last", question_last_,
                       "document and the prompt are one input, as in the papers that compress prompts")
            ->excludes(steer);
    }

    void run(Console& console) override
    {
        if (common_.no_save && !session_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::NoSave),
                        Text("a session is there to be saved"),
                        Text("leave out {0} or {1}", Setting::NoSave, Setting::Session));
        require_question(Text::verbatim("--prompt"), prompt_);
        Documents documents = open_documents(files_, console.in, console.stop);
        if (!session_.empty()) return summarize_stored(documents, console);
        load(console);
        ordered_json all = ordered_json::array();
        if (!each_) all.push_back(summarize(documents, console));
        for (size_t i = 0; each_ && i < documents.size(); ++i) {
            Documents one;
            one.push_back(std::move(documents[i]));
            all.push_back(summarize(one, console));
        }
        if (common_.json) write_json(console.out, each_ ? all : all[0]);
    }

private:
    static constexpr int32_t summary_tokens = 512;
    // Without a penalty, small models repeat themselves within a few sentences (docs/quality.md).
    static constexpr double summary_repeat_penalty = 1.1;

    // Stores the documents in the session, but not the summary.
    void summarize_stored(const Documents& documents, Console& console)
    {
        if (each_)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--each"),
                        Text("a session holds its documents together"),
                        Text("leave out {0} or {1}", Setting::Session, "--each"));
        if (question_last_)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::QuestionLast),
                        Text("a session is read before it is asked about"),
                        Text("leave out {0} or {1}", Setting::Session, Setting::QuestionLast));
        open_stored(storage::Database::Access::Write, console, steer_ ? std::optional(prompt_) : std::nullopt);
        for (const auto& document : documents)
            stored_->read(*document, document != documents.back());
        const Coverage coverage = stored_->coverage();
        check_complete(coverage, common_.require_complete, session_);
        const auto fork = copy(stored_->session());
        const std::vector<Answer> answers = {
            answer(*fork, prompt_, turn(stored_->stream(), prompt_, {}), summary_tokens, console)};
        if (common_.json) return write_json(console.out, json(stored_->session(), coverage, files_, answers));
        receipt(stored_->session(), coverage, answers, console);
    }

    ordered_json summarize(const Documents& documents, Console& console) const
    {
        std::vector<std::string> names;
        for (const auto& document : documents)
            names.push_back(document->name());
        const auto [session, coverage, stream] = read(documents, prompt_, console);
        check_complete(coverage, common_.require_complete, names[0]);
        if (each_ && !common_.json) console.out << visible(names[0]) << ":\n";
        const auto fork = copy(*session);
        const std::vector<Answer> answers = {
            answer(*fork, prompt_, turn(stream, prompt_, {}), summary_tokens, console)};
        if (common_.json) return json(*session, coverage, names, answers);
        receipt(*session, coverage, answers, console);
        return {};
    }

    std::vector<std::string> files_;
    bool each_ = false;
};

class Ask final : public AnswerCommand {
public:
    explicit Ask(CLI::App& parent)
    {
        command_ = parent.add_subcommand("ask", "read a document and answer questions about it");
        command_
            ->add_option(
                "FILE QUESTION", words_,
                "a text or Markdown file, or - for standard input, and questions, each answered from the same "
                "reading; with --session only questions")
            ->required();
        command_->add_flag("--continue", continue_, "let each question see the ones before it");
        prompt_ = "{} Answer briefly, with facts from the text above only.";
        command_->add_option("--prompt", prompt_, "how the model is asked; {} is the question")
            ->capture_default_str()
            ->check(&holds_a_question);
        define_common();
        add_reread_options(*command_, common_);
        asks_ = true;
        auto* steer = command_->add_flag(
            "--steer", steer_,
            "read with the question in mind: its rows look at every chunk, so that the policy keeps what they "
            "attend to; with several questions, the document is read for each");
        command_
            ->add_flag("--question-last", question_last_,
                       "document and the question are one input, as in the papers that compress prompts; with "
                       "several questions, the document is read for each")
            ->excludes(steer);
    }

    void run(Console& console) override
    {
        if (!session_.empty()) {
            refuse_protocol_of_a_session();
            require_questions(words_);
            open_stored(storage::Database::Access::Read, console);
            return ask(stored_->session(), stored_->stream(), words_, stored_->coverage(), stored_->sources(),
                       console);
        }
        if (words_.size() < 2)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                        Text("there is no QUESTION"),
                        Text("give a file and a question, or --session and a question"));
        const std::vector<std::string> questions(words_.begin() + 1, words_.end());
        require_questions(questions);
        Documents documents = open_documents({words_[0]}, console.in, console.stop);
        if (protocol() != Protocol::Blind && questions.size() > 1) check_reading_for_each(documents);
        load(console);
        listener_ = std::make_unique<ConsoleListener>(console, common_.events);
        if (rereads()) store_ = std::make_unique<Store>();
        if (protocol() != Protocol::Blind) return read_for_each(std::move(documents), questions, console);
        const auto [session, coverage, stream] = read(documents, "", console);
        ask(*session, stream, questions, coverage, {words_[0]}, console);
    }

private:
    static constexpr int32_t answer_tokens = 256;

    static std::string holds_a_question(const std::string& prompt)
    {
        return prompt.find("{}") == std::string::npos ? "there is no {} in it, where the question goes" : "";
    }

    // Returns the prompt with the question in place of {}.
    std::string prompted(const std::string& question) const
    {
        std::string text = prompt_;
        return text.replace(text.find("{}"), 2, question);
    }

    void refuse_protocol_of_a_session() const
    {
        if (protocol() == Protocol::Blind) return;
        throw Error(
            ErrorKind::Usage, ErrorCode::InvalidArguments, protocol_option(),
            Text("the session's documents were read already"),
            Text("read them with the question in mind: palimpsest read FILE --session OTHER --question TEXT"));
    }

    void require_questions(const std::vector<std::string>& questions) const
    {
        for (const std::string& question : questions)
            require_question(protocol() == Protocol::Blind ? Text::verbatim("QUESTION") : protocol_option(),
                             question);
    }

    void check_reading_for_each(const Documents& documents) const
    {
        if (continue_)
            throw Error(
                ErrorKind::Usage, ErrorCode::InvalidArguments, protocol_option(),
                Text("it reads the document for each question, and with --continue one reading answers all"),
                Text("leave out one of the two"));
        if (!total_bytes(documents))
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(words_[0]),
                        Text("it can be read only once, and {0} reads it for each question", protocol_option()),
                        Text("give a file, or one question"));
    }

    void read_for_each(Documents documents, const std::vector<std::string>& questions, Console& console)
    {
        std::vector<Answer> answers;
        Reading reading;
        for (const std::string& question : questions) {
            if (!answers.empty()) documents = open_documents({words_[0]}, console.in, console.stop);
            const std::string asked = prompted(question);
            // As in a stored session, the question rows are the question without the prompt.
            reading = read(documents, protocol() == Protocol::Steered ? question : asked, console);
            check_complete(reading.coverage, common_.require_complete, words_[0]);
            Rereading found = look_up(*reading.session, reading.stream, question);
            introduce(question, questions.size(), console);
            answers.push_back(answer(*copy(*reading.session), question, turn(reading.stream, asked, found),
                                     answer_tokens, console));
            tell_support(answers.back(), std::move(found), console);
            if (questions.size() > 1) answers.back().reach = reach_json(reading.session->retention());
        }
        tell(*reading.session, reading.coverage, {words_[0]}, answers, console);
    }

    // Adds what was found for the question to its answer, and tells the sentence that supports it.
    void tell_support(Answer& answer, Rereading found, Console& console)
    {
        answer.found = std::move(found);
        if (!rereads()) return;
        answer.support =
            support_of(answer.text, answer.question, answer.found, *store_, encoder(), listener_->stop());
        write_support(console, common_.events, common_.json, answer.support, *store_);
    }

    void ask(engine::Session& session, const SessionStream& stream, const std::vector<std::string>& questions,
             const Coverage& coverage, const std::vector<std::string>& sources, Console& console)
    {
        check_complete(coverage, common_.require_complete, session_.empty() ? words_[0] : session_);
        std::vector<Answer> answers;
        const auto talk = continue_ ? copy(session) : nullptr;
        SessionStream talked = stream;
        for (const std::string& question : questions) {
            const auto fresh = continue_ ? nullptr : copy(session);
            engine::Session& asked = fresh ? *fresh : *talk;
            Rereading found = look_up(asked, talked, question);
            const auto ids = turn(talked, prompted(question), found);
            introduce(question, questions.size(), console);
            answers.push_back(answer(asked, question, ids, answer_tokens, console));
            tell_support(answers.back(), std::move(found), console);
            if (!continue_) continue;
            talked.append(StreamMessage{.tokens = ids.size()});
            talked.append(StreamMessage{.tokens = answers.back().generated.tokens.size()});
        }
        tell(session, coverage, sources, answers, console);
    }

    void introduce(const std::string& question, size_t of, Console& console) const
    {
        if (!common_.json && of > 1) console.out << console.wording.of(Text("Q: {0}\nA: ", visible(question)));
    }

    void tell(const engine::Session& session, const Coverage& coverage, const std::vector<std::string>& sources,
              const std::vector<Answer>& answers, Console& console) const
    {
        if (common_.json)
            write_json(console.out, json(session, coverage, sources, answers));
        else
            receipt(session, coverage, answers, console);
    }

    std::vector<std::string> words_;
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
