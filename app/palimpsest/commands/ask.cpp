// `ask`: reads a document, or opens a stored session, and answers questions. What a question is about and the cache
// holds no longer is read again before the answer.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/palimpsest/commands/answer_command.h"
#include "app/palimpsest/indexed_store.h"
#include "app/palimpsest/output.h"
#include "kernels/base/error.h"
#include "kernels/cpu/simd_target.h"
#include "storage/export_file.h"
#include "storage/session/answer_support.h"
#include "storage/session/document_indexing.h"
#include "storage/session/found_sentences.h"
#include "storage/session/installed_encoder.h"
#include "storage/session/listener.h"
#include "storage/session/message_kind.h"
#include "storage/session/passage_answer.h"
#include "storage/session/rereading.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::AnswerFrom;
using storage::check_complete;
using storage::Coverage;
using storage::Documents;
using storage::documents_in;
using storage::encode_documents;
using storage::exchange_before;
using storage::FoundSentences;
using storage::Interrupted;
using storage::open_documents;
using storage::open_store;
using storage::PassageEncoder;
using storage::prompt_apart;
using storage::Protocol;
using storage::Quote;
using storage::QuotedPassage;
using storage::reach_json;
using storage::require_question;
using storage::Rereading;
using storage::RereadMode;
using storage::SessionStream;
using storage::Store;
using storage::StoredOptions;
using storage::StreamMessage;
using storage::support_of;

class Ask final : public AnswerCommand {
public:
    explicit Ask(CLI::App& parent)
    {
        command_ = parent.add_subcommand("ask", "read a document and answer questions about it");
        command_
            ->add_option("FILE QUESTION", words_,
                         "a document, - for standard input, or an exported session, and questions, each answered "
                         "from the same reading; with --session only questions")
            ->required();
        command_->add_flag("--continue", continue_, "let each question see the ones before it");
        prompt_ = storage::passage_prompt;
        command_->add_option("--prompt", prompt_, "how the model is asked; {} is the question")
            ->capture_default_str()
            ->check(&holds_a_question);
        define_common();
        add_reread_options(*command_, common_);
        add_answer_from_option(*command_, common_);
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
        listener_.emplace(console, common_.events);
        if (answer_from() == AnswerFrom::Passages && !(stands_alone() && rereads()))
            write_note(console, common_.events,
                       Text("--answer-from passages has no effect with --continue, --steer, --question-last or "
                            "--reread never"));
        const bool is_export = storage::is_export(words_[0]);
        if (!session_.empty() && !is_export) return ask_stored(console);
        if (words_.size() < 2)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                        Text("there is no QUESTION"),
                        Text("give a file and a question, or --session and a question"));
        questions_.assign(words_.begin() + 1, words_.end());
        require_questions();
        if (is_export) {
            refuse_protocol_of_a_session();
            take_export(words_[0], console);
            return ask_stored(console);
        }
        Documents documents = open_documents({words_[0]}, console.in, console.stop);
        if (protocol() != Protocol::Blind && questions_.size() > 1) check_reading_for_each(documents);
        load(console);
        if (rereads()) store_ = std::make_unique<Store>();
        if (protocol() != Protocol::Blind) return read_for_each(std::move(documents), console);
        const auto [session, coverage, stream] = read(documents, "", console);
        ask(*session, stream, coverage, {words_[0]}, console);
    }

private:
    static constexpr int32_t answer_tokens = 256;

    static std::string holds_a_question(const std::string& prompt)
    {
        return prompt.find("{}") == std::string::npos ? "there is no {} in it, where the question goes" : "";
    }

    std::string prompted(const std::string& question) const { return storage::prompted(prompt_, question); }

    void refuse_protocol_of_a_session() const
    {
        if (protocol() == Protocol::Blind) return;
        throw Error(
            ErrorKind::Usage, ErrorCode::InvalidArguments, protocol_option(),
            Text("the session's documents were read already"),
            Text("read them with the question in mind: palimpsest read FILE --session OTHER --question TEXT"));
    }

    void require_questions() const
    {
        for (const std::string& question : questions_)
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

    AnswerFrom answer_from() const { return *storage::answer_from(common_.answer_from); }
    // Whether the answer needs nothing of the session but its documents.
    bool stands_alone() const { return !continue_ && protocol() == Protocol::Blind; }

    bool rereads() const
    {
        return protocol() != Protocol::QuestionLast && common_.rereading().mode != RereadMode::Never;
    }

    // Opens the database to read. Passages of the session's documents that are missing are made first.
    std::unique_ptr<Store> open_database(Console& console)
    {
        if (!rereads()) return open_store(database_, storage::Database::Access::Read, console.stop);
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
    PassageEncoder* encoder()
    {
        if (!rereads()) return nullptr;
        if (!simd_ && common_.given(Setting::Simd))
            simd_.emplace(common_.simd); // the encoder may come before the model
        return encoder_.get(shared_backend(), *listener_);
    }
    kernels::Backend* shared_backend() const { return model_ ? storage::shared_by_encoder(*model_) : nullptr; }

    // The passages that the search returned for a question, and their sentences with scores.
    struct Found {
        Rereading passages{};
        std::unique_ptr<FoundSentences> sentences{}; // null: there was no search
    };

    // Finds the passages that are fed again before a question. `stream`: all that the session has read.
    Found look_up(const engine::Session& session, const SessionStream& stream, const std::string& question)
    {
        if (!rereads()) return {};
        storage::FindingMeans means{.before = storage::asked_before(*store_, stream) + asked_,
                                    .model = model_,
                                    .listener = &*listener_,
                                    .stop = listener_->stop()};
        bool go_on = true;
        if (PassageEncoder* with = encoder())
            encoder_.use(*with, *listener_, [&] {
                if (!stored_)
                    go_on = encode_documents(*store_, documents_in(stream), *with, *listener_, listener_->stop());
                means.meaning = with->meaning_of({question, means.before}, listener_->stop());
            });
        if (!go_on) throw Interrupted{Text("stopped before the answer")};
        if (means.is_by_meaning()) means.encoder = encoder_.get_for_finding(shared_backend(), *listener_);
        Found found;
        storage::RereadOptions options = common_.rereading();
        const bool may_be_apart = may_answer_apart(question, stream);
        options.needs_room = !may_be_apart;
        found.passages = plan_rereading(*store_, stream, session, question, options, means);
        found.sentences = std::make_unique<FoundSentences>(
            found.passages, storage::Question{question, means.before}, *store_, means.encoder, listener_->stop());
        if (may_be_apart)
            found.passages.excerpts = storage::excerpts_for(found.passages, *found.sentences, answer_from());
        return found;
    }

    std::vector<QuotedPassage> quoted(const Found& found) const
    {
        return found.passages.read.empty() ? std::vector<QuotedPassage>() : found.passages.quoted(*store_);
    }

    // Whether a question may be answered from excerpts, by an empty session. What was said is in the session only.
    bool may_answer_apart(const std::string& question, const SessionStream& stream) const
    {
        const bool is_for_session = has_messages(stream.parts()) && storage::is_about_conversation(question);
        return stands_alone() &&
               (answer_from() == AnswerFrom::Passages || (answer_from() == AnswerFrom::Auto && !is_for_session));
    }

    // Tells what is read before the answer: passages, by the session, or excerpts of them alone.
    void tell_found(const Found& found, Console& console)
    {
        if (!found.passages.empty()) listener_->found(found.passages, *store_);
        if (found.sentences && found.passages.excerpts.empty() && stands_alone() &&
            answer_from() == AnswerFrom::Passages)
            write_note(console, common_.events,
                       Text("nothing was found; the answer comes from what the session holds"));
    }

    // Adds what was found for the question to its answer, and tells the sentence that supports it.
    void tell_support(Answer& answer, const Found& found, Console& console)
    {
        const bool was_looked_up = found.sentences != nullptr;
        const auto support = was_looked_up ? support_of(answer.text, *found.sentences) : storage::AnswerSupport();
        if (was_looked_up) write_support(console, common_.events, common_.json, support, *store_);
        if (common_.json)
            add_support(answer.support, was_looked_up ? &found.passages : nullptr, support, store_.get());
    }

    // Answers a question to `session`, which has read `stream`, in a copy of it or from excerpts alone.
    Answer reply(engine::Session& session, const SessionStream& stream, const std::string& question,
                 Console& console)
    {
        const Found found = look_up(session, stream, question);
        if (found.passages.excerpts.empty())
            return reply_in(*copy(session), turn(stream, prompted(question), quoted(found)), question, found,
                            console);
        std::vector<std::string> texts;
        for (const Quote& excerpt : found.passages.excerpts)
            texts.push_back(excerpt.text);
        const auto apart = storage::empty_session_like(session, model_, common_.sampler);
        return reply_in(*apart,
                        prompt_apart(chat_template(), exchange_before(question, stream.parts(), *store_), texts,
                                     prompted(question)),
                        question, found, console);
    }

    // Answers in `session`, which has read `stream`, and appends the question and the answer to `stream`.
    Answer continue_in(engine::Session& session, SessionStream& stream, const std::string& question,
                       Console& console)
    {
        const Found found = look_up(session, stream, question);
        const auto ids = turn(stream, prompted(question), quoted(found));
        Answer result = reply_in(session, ids, question, found, console);
        asked_ = std::exchange(asked_last_, question + '\n') + question;
        stream.append(StreamMessage{.tokens = ids.size()});
        stream.append(StreamMessage{.tokens = result.generated.tokens.size()});
        return result;
    }

    Answer reply_in(engine::Session& session, const std::vector<engine::TokenId>& ids, const std::string& question,
                    const Found& found, Console& console)
    {
        tell_found(found, console);
        if (!common_.json && questions_.size() > 1)
            console.out << console.wording.of(Text("Q: {0}\nA: ", visible(question)));
        Answer result = answer(session, question, ids, answer_tokens, console);
        tell_support(result, found, console);
        return result;
    }

    // Reads the document with each question in mind.
    void read_for_each(Documents documents, Console& console)
    {
        std::vector<Answer> answers;
        Reading reading;
        for (const std::string& question : questions_) {
            if (!answers.empty()) documents = open_documents({words_[0]}, console.in, console.stop);
            // As in a stored session, the question rows are the question without the prompt.
            reading = read(documents, protocol() == Protocol::Steered ? question : prompted(question), console);
            check_complete(reading.coverage, common_.require_complete, words_[0]);
            answers.push_back(reply(*reading.session, reading.stream, question, console));
            if (questions_.size() > 1) answers.back().reach = reach_json(reading.session->retention());
        }
        tell(*reading.session, reading.coverage, {words_[0]}, answers, console);
    }

    void ask_stored(Console& console)
    {
        refuse_protocol_of_a_session();
        if (questions_.empty()) questions_ = words_;
        require_questions();
        StoredOptions options;
        options.read_only = true; // questions do not change the session
        open_stored([&] { return open_database(console); }, std::move(options), console);
        ask(stored_->session(), stored_->stream(), stored_->coverage(), stored_->sources(), console);
    }

    void ask(engine::Session& session, const SessionStream& stream, const Coverage& coverage,
             const std::vector<std::string>& sources, Console& console)
    {
        check_complete(coverage, common_.require_complete, session_.empty() ? words_[0] : session_);
        std::vector<Answer> answers;
        std::unique_ptr<engine::Session> fork;
        SessionStream talked;
        for (const std::string& question : questions_) {
            if (!continue_) {
                answers.push_back(reply(session, stream, question, console));
                continue;
            }
            if (!fork) {
                fork = copy(session);
                talked = stream;
            }
            answers.push_back(continue_in(*fork, talked, question, console));
        }
        tell(session, coverage, sources, answers, console);
    }

    void tell(const engine::Session& session, const Coverage& coverage, const std::vector<std::string>& sources,
              const std::vector<Answer>& answers, Console& console) const
    {
        if (common_.json)
            write_json(console.out, json(session, coverage, sources, answers));
        else
            receipt(session, coverage, answers, console);
    }

    std::vector<std::string> words_, questions_;
    bool continue_ = false;
    std::string asked_, asked_last_; // with --continue, the last two questions, and the last one
    std::optional<kernels::SimdUse> simd_;
    storage::InstalledEncoder encoder_;
};

} // namespace

std::unique_ptr<Command> make_ask(CLI::App& parent)
{
    return std::make_unique<Ask>(parent);
}

} // namespace palimpsest::app
