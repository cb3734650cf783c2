// `chat`: turns without limit, each saved when it ends. A terminal offers editing and slash commands; from a pipe,
// each line is a turn.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <optional>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/given_export.h"
#include "app/palimpsest/interrupt.h"
#include "app/palimpsest/line_editor.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/receipt.h"
#include "app/palimpsest/retention_picture.h"
#include "engine/policy/named/nearest.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/answer_provenance.h"
#include "storage/session/answer_text.h"
#include "storage/session/document.h"
#include "storage/session/listener.h"
#include "storage/session/pinning.h"
#include "storage/session/protocol.h"
#include "storage/session/session_report.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "storage/transcript/stream_documents.h"
#include "storage/transcript/transcript_words.h"
#include "storage/user_folders.h"

namespace palimpsest::app {
namespace {

using storage::AnswerText;
using storage::data_folder;
using storage::Documents;
using storage::end_name;
using storage::Interrupted;
using storage::memory_json;
using storage::name_of;
using storage::open_documents;
using storage::open_store;
using storage::pins_sentence;
using storage::Protocol;
using storage::protocol_of_session;
using storage::Store;
using storage::StoredOptions;
using storage::StoredSession;

constexpr int32_t answer_tokens = 1024;
constexpr double chat_temperature = 0.7;

std::string today()
{
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    gmtime_r(&now, &fields);
    char text[40];
    std::strftime(text, sizeof text, "chat %Y-%m-%d %H:%M:%S", &fields);
    return text;
}

class Chat final : public Command {
public:
    explicit Chat(CLI::App& parent)
    {
        common_.sampler.temperature = chat_temperature;
        options_.talks = true;
        command_ = parent.add_subcommand("chat", "talk with the model, without end; saved after every turn");
        command_->add_option("FILE", file_,
                             "a document to talk about, read first, or an exported session to go on with");
        add_session_option(*command_, session_);
        command_->add_flag("--recompute", options_.recompute,
                           "compute the session again from its text if no saved state can be used");
        add_database_option(*command_, database_);
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_snapshot_option(*command_, common_);
        add_sampling_options(*command_, common_);
        add_reread_options(*command_, common_);
        add_answer_from_option(*command_, common_);
        add_system_option(*command_, common_);
        add_output_options(*command_, common_);
        command_->add_flag("--raw", raw_, "print control characters of answers as they are");
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (common_.no_save && !session_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::NoSave),
                        Text("a session is there to be saved"),
                        Text("leave out {0} or {1}", Setting::NoSave, Setting::Session));
        if (common_.no_save) refuse_snapshot_without_session(common_);
        const bool is_export = is_given_export({file_});
        Documents documents;
        if (!file_.empty() && !is_export) documents = open_documents({file_}, console.in, console.stop);
        const auto store = common_.no_save ? std::make_unique<Store>()
                                           : open_store(database_, storage::Database::Access::Write, console.stop);
        std::string name = session_;
        std::optional<storage::OpenedExport> opened;
        if (is_export) {
            storage::ExportFile exported = storage::export_for(store->database.file(), file_, console.stop);
            opened = open_given_cache(*store, exported, session_, common_, console);
            name = opened->session.name;
        }
        if (name.empty()) name = file_.empty() ? today() : documents[0]->title();
        options_.choice = common_;
        options_.rereading = common_.rereading();
        ConsoleListener listener(console, common_.events);
        std::optional<StoredSession> stored;
        const auto open = [&] {
            stored.emplace(*store, name, options_, listener);
            stored->choose_sampling();
            if (documents.empty() && !common_.pins.empty()) stored->pin(common_.pins);
        };
        if (opened)
            open_imported(file_, *opened, common_.events, console, open, [&] { return store.get(); });
        else
            open();
        StoredSession& session = *stored;
        if (!documents.empty()) session.read(*documents[0]);
        if (opened) session.read_on();
        LineEditor editor(console, common_.no_save ? "" : data_folder() + "/history");
        if (editor.is_terminal())
            console.err << console.wording.of(Text("session '{0}', {1} tokens; /help for commands, /quit to leave",
                                                   visible(name), format_count(session.session().tokens_seen())))
                        << std::endl;
        talk(session, editor, listener, console);
        const bool saved = session.store_turns();
        if (saved && console.stop.stop_requested())
            throw Interrupted{Text("stopped; the session '{0}' is saved", session.name())};
        if (common_.json)
            write_json(console.out,
                       {{"schema", "palimpsest.chat/1"},
                        {"session", name},
                        {"form", storage::name_of(session.snapshot_form())},
                        {"protocol", name_of(session.question().empty() ? Protocol::Blind : Protocol::Steered)},
                        {"turns", turns_},
                        {"seed", session.session().options().sampler.seed},
                        {"temperature", session.session().options().sampler.temperature},
                        {"coverage", session.coverage().json()},
                        {"backend", backend_json(session.model(), session.lost_device())},
                        {"memory", memory_json(session.session().telemetry())}});
        if (!saved) throw not_saved(session);
    }

private:
    void talk(StoredSession& session, LineEditor& editor, ConsoleListener& listener, Console& console)
    {
        bool interrupted_at_prompt = false;
        while (!console.stop.stop_requested()) {
            std::optional<InterruptScope> turn(std::in_place);
            const auto line = editor.next("> ", turn->token());
            if (!line) {
                if (!turn->token().stop_requested() || console.stop.stop_requested() || interrupted_at_prompt)
                    break;
                interrupted_at_prompt = true;
                console.err << '\n' << console.wording.of(Text("(once more, or /quit, to leave)")) << std::endl;
                continue;
            }
            interrupted_at_prompt = false;
            if (line->empty()) continue;
            if (editor.is_terminal() && line->front() == '/') {
                turn.reset(); // SIGINT during a slash command stops the program
                if (!run_command(session, *line, console)) break;
                continue;
            }
            try {
                answer(session, *line, turn->token(), listener, console);
            } catch (const Error& error) {
                if (!editor.is_terminal() || !changed_nothing(error)) throw;
                console.err << visible(error.sentence(console.wording)) << std::endl;
            }
        }
    }

    // Errors that are thrown before anything is stored or fed.
    static bool changed_nothing(const Error& error)
    {
        switch (error.code()) {
        case ErrorCode::UnfinishedDocument:
        case ErrorCode::MessageNotFound:
        case ErrorCode::DocumentAfterMessage:
        case ErrorCode::MessageTooLong:
        case ErrorCode::CacheFull:
        case ErrorCode::PositionsExhausted:
            return true;
        default:
            return false;
        }
    }

    static Text why_full(const engine::Session& session)
    {
        const engine::SessionOptions& o = session.options();
        if (session.policy().bounded())
            return Text("with {0} original the session is as long as what the model was trained on",
                        Setting::Positions);
        const auto schedule = o.policy.parameters.find("schedule");
        const bool once = schedule != o.policy.parameters.end() && schedule->second == "once";
        const bool chooses = o.budget == engine::no_budget && o.policy.name != "full";
        if (once)
            return Text("{0} {1} with schedule=once evicts nothing while it answers, and its cache is full",
                        Setting::Policy, o.policy.name);
        if (chooses)
            return Text("{0} {1} without a budget keeps all that attention needs, and its cache is full",
                        Setting::Policy, o.policy.name);
        return Text("{0} {1} keeps every token, and its cache is full", Setting::Policy, o.policy.name);
    }

    static Error not_saved(const StoredSession& session)
    {
        const Error& why = *session.why_waiting();
        const size_t turns = session.turns_waiting();
        return {ErrorKind::Resources, why.code(), Text("session '{0}'", printable(session.name())),
                turns == 0   ? Text("its state is not saved: {0}", why.text())
                : turns == 1 ? Text("the last turn is not saved: {0}", why.text())
                             : Text("the last {0} turns are not saved: {1}", turns, why.text()),
                why.remedy()};
    }

    void answer(StoredSession& session, const std::string& message, std::stop_token stop, ConsoleListener& listener,
                Console& console)
    {
        const bool were_waiting = session.why_waiting().has_value();
        listener.take_found(); // of a turn that failed
        const size_t parts_before = session.parts().size();
        AnswerText text(session.tokenizer(), common_.stop);
        const auto show = [&] {
            const std::string part = text.fresh();
            if (part.empty()) return;
            if (common_.events) write_event(console.err, {{"event", "token"}, {"text", part}});
            if (!common_.json) console.out << (raw_ ? part : visible(part)) << std::flush;
        };
        const auto result =
            session.say(message, {.max_tokens = common_.max_tokens ? common_.max_tokens : answer_tokens,
                                  .stop = std::move(stop),
                                  .token =
                                      [&](engine::TokenId id) {
                                          const bool go_on = text.push(id);
                                          show();
                                          return go_on && console.out.good();
                                      },
                                  .is_end = [&](engine::TokenId id) { return session.tokenizer().is_end(id); }});
        text.finish();
        show();
        if (common_.json) {
            turns_.push_back({{"message", message}, {"answer", text.text()}, {"end", end_name(result.end)}});
        } else {
            console.out << '\n';
            finish_output(console.out);
        }
        if (session.parts().size() > parts_before) // it was not stopped before its turn began
            tell_support(session, message, text.text(), listener, console);
        if (session.why_waiting().has_value())
            write_note(console, common_.events, sentence_of(not_saved(session)));
        else if (were_waiting)
            write_note(console, common_.events, Text("all turns are saved now"));
        if (common_.json) return;
        if (result.end == engine::GenerateEnd::Full)
            write_note(console, common_.events, Text("the answer was cut: {0}", why_full(session.session())));
        if (result.end == engine::GenerateEnd::Length)
            write_note(console, common_.events,
                       Text("the answer was cut after {0} tokens (--max-tokens)", result.tokens.size()));
    }

    void tell_support(StoredSession& session, const std::string& message, const std::string& answer,
                      ConsoleListener& listener, Console& console)
    {
        auto found = listener.take_found();
        if (found && !session.was_written_apart()) found->excerpts.clear();
        const auto support = found ? session.support_of(answer, message, *found) : storage::AnswerSupport();
        keep_provenance(session, support, console);
        write_support(console, common_.events, common_.json, support, session.store());
        if (!common_.json) return;
        add_support(turns_.back(), found ? &*found : nullptr, support, &session.store());
    }

    void keep_provenance(StoredSession& session, const storage::AnswerSupport& support, Console& console)
    try {
        if (const auto turn = storage::last_turn(session))
            storage::Provenances(session.store().database)
                .put(turn->answer.id, storage::provenance_of(session, *turn, support));
    } catch (const Error& error) {
        write_note(console, common_.events, sentence_of(error));
    }

    // Returns false to quit.
    bool run_command(StoredSession& session, const std::string& line, Console& console)
    {
        const std::string word = line.substr(0, line.find(' '));
        const std::vector<std::string> known = {"/answer", "/help",   "/map",  "/memory", "/pin", "/policy",
                                                "/quit",   "/reread", "/save", "/strip",  "/undo"};
        if (word == "/undo") {
            if (!session.store_turns()) {
                console.err << visible(not_saved(session).sentence(console.wording)) << std::endl;
                return true;
            }
            try {
                session.undo();
            } catch (const Error& error) {
                if (!changed_nothing(error)) throw; // partly undone: the session must be reopened
                console.err << visible(error.sentence(console.wording)) << std::endl;
            }
            return true;
        }
        try {
            if (word == "/quit" || word == "/exit") return false;
            if (word == "/help")
                console.err << console.wording.of(
                    Text("/map     which tokens are kept\n/memory  what that takes\n/policy  how they are chosen\n"
                         "/pin     what is never evicted; /pin TEXT or /pin 0-99 adds to it\n"
                         "/reread  whether passages are read again; /reread auto, always or never\n"
                         "/answer  what answers are written from; /answer auto, session or passages\n"
                         "/save    save now (done after every turn)\n/undo    take the last turn back\n"
                         "/strip   free the saved cache, keep the text, and leave\n"
                         "/quit    leave; Ctrl-C stops an answer\n"));
            else if (word == "/map")
                console.err << unicode_picture(session.session().retention(), {}, 80, console.wording);
            else if (word == "/memory")
                write_receipt(console, common_.events, session.session(), session.coverage(),
                              protocol_of_session(session.question()));
            else if (word == "/policy")
                console.err << session.session().options().policy.text() << '\n';
            else if (word == "/pin")
                pin(session, line, console);
            else if (word == "/reread")
                reread(session, line, console);
            else if (word == "/answer")
                answer_from(session, line, console);
            else if (word == "/save")
                session.save();
            else if (word == "/strip")
                return strip(session, console);
            else {
                const std::string near = engine::nearest(word, known);
                console.err << console.wording.of(
                                   near.empty() ? Text("there is no {0}; see /help", visible(word))
                                                : Text("there is no {0}; did you mean {1}?", visible(word), near))
                            << '\n';
            }
            console.err.flush();
        } catch (const Error& error) {
            console.err << visible(error.sentence(console.wording)) << std::endl;
        }
        return true;
    }

    static void pin(StoredSession& session, const std::string& line, Console& console)
    {
        const std::string wanted = argument_of(line);
        if (!wanted.empty()) session.pin({wanted});
        if (session.session().pins().empty())
            console.err << console.wording.of(Text("nothing is pinned; /pin TEXT or /pin 0-99 pins a passage"));
        else
            console.err << console.wording.of(pins_sentence(session.session()));
        console.err << '\n';
        list_pins(session, console);
    }

    static void list_pins(StoredSession& session, Console& console)
    {
        const storage::StreamDocuments documents(session.store().library, session.parts());
        for (const storage::Pin& pin : session.pins()) {
            const std::string first = format_count(pin.first), last = format_count(pin.last - 1);
            const auto place = documents.place({pin.first, pin.last});
            console.err << "  "
                        << console.wording.of(place
                                                  ? Text("tokens {0} to {1}: {2}", first, last, place_words(*place))
                                                  : Text("tokens {0} to {1}", first, last))
                        << '\n';
        }
    }

    // The rest of a line behind its first word.
    static std::string argument_of(const std::string& line)
    {
        const size_t space = line.find_first_of(" \t");
        const size_t begin = space == std::string::npos ? space : line.find_first_not_of(" \t", space);
        std::string argument = begin == std::string::npos ? std::string() : line.substr(begin);
        argument.erase(argument.find_last_not_of(" \t") + 1);
        return argument;
    }

    static void answer_from(StoredSession& session, const std::string& line, Console& console)
    {
        storage::RereadOptions options = session.rereading();
        const std::string wanted = argument_of(line);
        const auto from = storage::answer_from(wanted);
        if (from) options.answer_from = *from;
        session.set_rereading(options);
        console.err << console.wording.of(
                           wanted.empty() || from
                               ? Text("answers are written from: {0}", name_of(options.answer_from))
                               : Text("there is no '{0}'; say auto, session or passages", visible(wanted)))
                    << '\n';
    }

    static void reread(StoredSession& session, const std::string& line, Console& console)
    {
        storage::RereadOptions options = session.rereading();
        const std::string wanted = argument_of(line);
        const auto mode = storage::reread_mode(wanted);
        if (mode) options.mode = *mode;
        session.set_rereading(options);
        console.err << console.wording.of(
                           wanted.empty() || mode
                               ? Text("passages are read again: {0}", name_of(options.mode))
                               : Text("there is no '{0}'; say auto, always or never", visible(wanted)))
                    << '\n';
    }

    bool strip(StoredSession& session, Console& console) const
    {
        const uint64_t freed = session.strip();
        console.err << console.wording.of(Text("{0} freed; its {1} tokens are read again when it goes on",
                                               format_bytes(freed), format_count(session.session().tokens_seen())))
                    << '\n';
        return false;
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    StoredOptions options_;
    std::string file_, session_, database_;
    bool raw_ = false;
    nlohmann::ordered_json turns_ = nlohmann::ordered_json::array();
};

} // namespace

std::unique_ptr<Command> make_chat(CLI::App& parent)
{
    return std::make_unique<Chat>(parent);
}

} // namespace palimpsest::app
