#include "app/palimpsest/commands/answer_command.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/given_export.h"
#include "app/palimpsest/indexed_store.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/receipt.h"
#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/session/answer_text.h"
#include "storage/session/encoded_import.h"
#include "storage/session/listener.h"
#include "storage/session/pinning.h"
#include "storage/session/reading_meter.h"
#include "storage/session/session_report.h"
#include "storage/session/session_settings.h"

namespace palimpsest::app {
namespace {

constexpr const char* steer_option = "--steer";

using nlohmann::ordered_json;
using storage::AnswerText;
using storage::Coverage;
using storage::Document;
using storage::Documents;
using storage::encode_document;
using storage::EncodedImport;
using storage::end_name;
using storage::frame_turn;
using storage::Interrupted;
using storage::make_room_for;
using storage::memory_json;
using storage::model_json;
using storage::name_of;
using storage::pins_json;
using storage::pins_of;
using storage::policy_json;
using storage::Protocol;
using storage::question_turn;
using storage::QuotedPassage;
using storage::reach_json;
using storage::read_document;
using storage::ReadingMeter;
using storage::ReadOptions;
using storage::require_tokenizer;
using storage::SessionStream;
using storage::steer;
using storage::Store;
using storage::StoredOptions;
using storage::StoredSession;
using storage::StreamDocument;
using storage::StreamFraming;

} // namespace

bool AnswerCommand::chosen() const
{
    return command_->parsed();
}

void AnswerCommand::define_common()
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

Protocol AnswerCommand::protocol() const
{
    return steer_ ? Protocol::Steered : question_last_ ? Protocol::QuestionLast : Protocol::Blind;
}

Text AnswerCommand::protocol_option() const
{
    return steer_ ? Text::verbatim(steer_option) : Text(Setting::QuestionLast);
}

void AnswerCommand::load(Console& console)
{
    model_ = load_chosen_model(common_, console, 2); // the session and its copy for an answer
    tokenizer_ = &require_tokenizer(*model_);
    const engine::FramingOptions framing{.system = common_.system, .date = storage::today()};
    own_template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_, framing);
    template_ = own_template_.get();
    warn(console);
}

void AnswerCommand::take_export(const std::string& file, Console& console)
{
    if (common_.no_save)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::NoSave),
                    Text("an exported session is imported to be asked"), Text("leave out {0}", Setting::NoSave));
    storage::ExportFile exported = storage::export_for(storage::database_file(database_), file, console.stop);
    export_ = export_opened_before(database_, exported, session_, common_);
    if (!export_) {
        const auto store = open_to_write(database_, *listener_);
        export_ = open_given_cache(*store, exported, session_, common_, console);
    }
    export_file_ = file;
    session_ = export_->session.name;
}

void AnswerCommand::open_stored(const std::function<std::unique_ptr<Store>()>& store, StoredOptions options,
                                Console& console)
{
    options.choice = common_;
    options.recompute = recompute_;
    options.rereading = common_.rereading();
    options.question_option = Text::verbatim(steer_option);
    const std::string name = session_.empty() ? command_->get_name() : session_;
    const bool is_written = !options.read_only;
    const auto open = [&] {
        store_ = store();
        if (export_ && options.read_only) keep_what_is_fed(options);
        stored_ = std::make_unique<StoredSession>(*store_, name, std::move(options), *listener_);
    };
    if (export_)
        open_imported(export_file_, *export_, common_.events, console, open, [&] {
            store_.reset();
            return storage::open_store(database_, storage::Database::Access::Write, console.stop);
        });
    else
        open();
    if (export_ && is_written) stored_->read_on();
    model_ = stored_->shared_model();
    tokenizer_ = &stored_->tokenizer();
    template_ = &stored_->chat_template();
    warn(console);
}

void AnswerCommand::keep_what_is_fed(StoredOptions& options)
try {
    const auto saved = store_->snapshots.of(export_->session.id);
    const storage::SessionStream stream(store_->conversations.stream(export_->session.id));
    if (stream.empty()) return;
    // A document is fed to its last token, and after messages the tokens of an incomplete chunk wait.
    const int32_t chunk = storage::SessionSettings(export_->session).chunk;
    const auto waiting = static_cast<uint64_t>(stream.last_document() ? 0 : chunk - 1);
    const uint64_t before = saved.empty() ? 0 : saved.front().tokens_seen;
    if (before > 0 && before + waiting >= stream.tokens()) return;
    const auto writer = open_to_write(database_, *listener_);
    StoredOptions kept = options;
    kept.read_only = false;
    StoredSession session(*writer, export_->session.name, kept, *listener_);
    if (session.is_half_read())
        session.read_on();
    else
        session.save();
    tokens_kept_ = session.session().tokens_seen() - before;
    options.model = session.shared_model();
} catch (const Error& error) {
    const ErrorCode code = error.code();
    if (code != ErrorCode::BusyDatabase && code != ErrorCode::DiskFull && code != ErrorCode::InaccessibleDatabase)
        throw;
    listener_->note(Text("its text is read for this answer only, because what is read cannot be saved: {0}",
                         sentence_of(error)));
    options.recompute = true;
}

void AnswerCommand::warn(Console& console) const
{
    for (const Text& warning : model_->files().warnings)
        write_note(console, common_.events, warning);
    const bool was_said = stored_ && stored_->is_new() && !stored_->system().empty();
    if (!was_said && !template_->warning().empty()) write_note(console, common_.events, template_->warning());
}

std::unique_ptr<engine::Session> AnswerCommand::start(const Documents& documents, const std::string& question)
{
    const auto tokens = common_.budget_is_share() ? count_tokens(documents) : std::nullopt;
    engine::SessionOptions options = common_.session(model_->config(), {.input = tokens});
    const auto tokens_before = [this](Document& document, bool is_first) {
        return framing_before(document, is_first).size();
    };
    auto found = pins_of(common_.pins, documents, template_->document_is_first_text(), tokens_before, *model_);
    for (const Text& note : found.notes)
        listener_->note(note);
    options.pins = std::move(found.pins);
    if (protocol() != Protocol::Steered) return std::make_unique<engine::Session>(model_, options);
    const auto rows = question_turn(*template_, question);
    make_room_for(rows, model_->config(), Text::verbatim(steer_option), options);
    auto session = std::make_unique<engine::Session>(model_, options);
    steer(*session, rows, Text::verbatim(steer_option));
    return session;
}

std::vector<engine::TokenId> AnswerCommand::framing_before(Document& document, bool is_first) const
{
    return is_first ? template_->open_user() : template_->next_document(document.own_title());
}

AnswerCommand::Reading AnswerCommand::read(const Documents& documents, const std::string& question,
                                           Console& console)
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

// Appends what it feeds to `stream`.
Coverage AnswerCommand::read(engine::Session& session, const Documents& documents, SessionStream& stream,
                             Console& console)
{
    ReadingMeter progress(*listener_,
                          documents.size() == 1 ? documents[0]->name()
                                                : console.wording.of(Text("{0} documents", documents.size())),
                          text_bytes(documents));
    Coverage all;
    uint64_t bytes_before = 0;
    for (size_t i = 0; i < documents.size(); ++i) {
        Document& document = *documents[i];
        const StreamFraming framing{.ids = framing_before(document, i == 0)};
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
        if (!id) throw Interrupted{Text("stopped while reading; nothing was saved, run it again to start over")};
        stream.append(StreamDocument{.id = *id, .tokens = one.tokens_read});
        report_notes(document, *listener_);
        bytes_before += document.text_bytes().value_or(0);
        all.tokens_in_input += one.tokens_in_input;
        all.tokens_read += one.tokens_read;
        all.invalid_sequences += one.invalid_sequences;
        all.nul_characters += one.nul_characters;
        std::ranges::copy(one.pages_without_text, std::back_inserter(all.pages_without_text));
    }
    if (all.tokens_in_input == 0)
        throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(documents[0]->name()),
                    Text("it has no text"), Text("give a document with text"));
    return all;
}

std::vector<engine::TokenId> AnswerCommand::turn(const SessionStream& stream, const std::string& question,
                                                 std::span<const QuotedPassage> passages) const
{
    if (protocol() == Protocol::QuestionLast) return {}; // read() has fed the question
    return frame_turn(*template_, stream, question, passages).ids;
}

std::unique_ptr<engine::Session> AnswerCommand::copy(engine::Session& session) const
{
    auto fork = session.fork();
    fork->set_sampler(common_.sampler);
    fork->set_question_ids({});
    return fork;
}

AnswerCommand::Answer AnswerCommand::answer(engine::Session& session, const std::string& question,
                                            const std::vector<engine::TokenId>& turn_ids, int32_t default_length,
                                            Console& console) const
{
    Answer result{.question = question, .text = {}, .generated = {}};
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

void AnswerCommand::receipt(const engine::Session& session, const Coverage& coverage,
                            const std::vector<Answer>& answers, Console& console) const
{
    for (const Answer& a : answers)
        if (!common_.events && a.generated.end == engine::GenerateEnd::Full)
            console.err << console.wording.of(
                               Text("answer:   cut after {0} tokens: the cache is full; use a policy with a budget",
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
Protocol AnswerCommand::shown_protocol() const
{
    return stored_ && !stored_->question().empty() ? Protocol::Steered : protocol();
}

ordered_json AnswerCommand::json(const engine::Session& session, const Coverage& coverage,
                                 const std::vector<std::string>& files, const std::vector<Answer>& answers) const
{
    ordered_json list = ordered_json::array();
    for (const Answer& a : answers) {
        list.push_back({{"question", a.question},
                        {"text", a.text},
                        {"end", end_name(a.generated.end)},
                        {"tokens", a.generated.tokens.size()}});
        if (!a.reach.is_null()) list.back()["reach"] = a.reach;
        list.back().update(a.support);
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
    }
    if (!session_.empty()) {
        result["form"] = storage::name_of(stored_->snapshot_form());
        result["tokens_fed_again"] = tokens_kept_ + stored_->tokens_fed_again();
        result["bytes_written"] = stored_->bytes_written();
    }
    return result;
}

std::optional<uint64_t> AnswerCommand::count_tokens(const Documents& documents) const
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

std::optional<uint64_t> AnswerCommand::total_bytes(const Documents& documents)
{
    uint64_t total = 0;
    for (const auto& document : documents) {
        if (!document->total_bytes()) return std::nullopt;
        total += *document->total_bytes();
    }
    return total;
}

std::optional<uint64_t> AnswerCommand::text_bytes(const Documents& documents)
{
    uint64_t total = 0;
    for (const auto& document : documents) {
        if (!document->text_bytes()) return std::nullopt;
        total += *document->text_bytes();
    }
    return total;
}

} // namespace palimpsest::app
