// `read`: feeds documents into a named session; resumes a reading that was stopped.

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/given_export.h"
#include "app/palimpsest/library_document.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/receipt.h"
#include "kernels/base/error.h"
#include "storage/notes/note_report.h"
#include "storage/session/document.h"
#include "storage/session/pinning.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::check_complete;
using storage::costs_json;
using storage::Coverage;
using storage::Documents;
using storage::documents_in;
using storage::memory_json;
using storage::model_json;
using storage::name_of;
using storage::NoteMode;
using storage::open_documents;
using storage::open_store;
using storage::pins_json;
using storage::policy_json;
using storage::Protocol;
using storage::protocol_of_session;
using storage::reach_json;
using storage::require_question;
using storage::StoredOptions;
using storage::StoredSession;
using storage::summary_of;

class Read final : public Command {
public:
    explicit Read(CLI::App& parent)
    {
        command_ = parent.add_subcommand("read", "stream documents into a named session, to ask about them later");
        file_ = command_->add_option(
            "FILE", files_,
            "documents, - for standard input, or an exported session, which is not read again if "
            "its model is here");
        document_ =
            command_
                ->add_option(
                    "--document", documents_,
                    "read a stored document, which its number or title names (see palimpsest library list); "
                    "may be repeated; documents and files are read in the order given")
                ->allow_extra_args(false);
        add_session_option(*command_, session_)->required();
        command_
            ->add_option("--checkpoint-seconds", options_.checkpoint_seconds,
                         "save the state at most this often while reading")
            ->check(CLI::Range(0.0, 86400.0))
            ->capture_default_str();
        question_ = command_->add_option(
            "--question", options_.question,
            "read with this question in mind: its rows look at every chunk, so that the policy keeps "
            "what they attend to; it belongs to the session");
        command_->add_flag("--notes", notes_,
                           "write a note on every section while reading, and keep them with the session: they are "
                           "what summarize makes its summary of");
        command_->add_flag("--again", options_.again,
                           "read a file that is in the session, as it was or changed, as a further document");
        command_->add_flag("--recompute", options_.recompute,
                           "compute the session again from its text if no saved state can be used");
        add_database_option(*command_, database_);
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_snapshot_option(*command_, common_);
        add_system_option(*command_, common_);
        add_output_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (common_.no_save)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::NoSave),
                        Text("nothing would remain of the reading"),
                        Text("use summarize or ask, which save nothing without --session"));
        if (question_->count() > 0) // CLI11 ignores an empty value
            require_question(Text(Setting::Question), options_.question.value_or(""));
        if (files_.empty() && documents_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("FILE"),
                        Text("nothing is given to read"),
                        Text("give a file, or a stored document with --document"));
        const bool is_export = is_given_export(files_);
        const Documents documents = is_export ? Documents() : open_documents(files_, console.in, console.stop);
        const auto store = open_store(database_, storage::Database::Access::Write, console.stop);
        std::vector<int64_t> stored;
        for (const std::string& name : documents_)
            stored.push_back(library_document(store->library, name).id);
        options_.choice = common_;
        if (notes_) options_.notes = NoteMode::Always;
        ConsoleListener listener(console, common_.events);
        std::unique_ptr<StoredSession> opened;
        if (is_export) {
            auto [going_on, text] = open_export(*store, listener, console);
            opened = std::move(going_on);
            stored.insert(stored.begin(), text.begin(), text.end());
        }
        if (!opened) opened = std::make_unique<StoredSession>(*store, session_, options_, listener);
        StoredSession& session = *opened;
        if (is_export) session.read_on();
        read_all(session, in_order_given(documents, stored));
        session.complete_notes();
        const Coverage coverage = session.coverage();
        check_complete(coverage, common_.require_complete, session_);
        const Protocol protocol = protocol_of_session(session.question());
        if (common_.json) {
            const engine::RetentionMap map = session.session().retention();
            const bool steered = protocol == Protocol::Steered;
            write_json(console.out, {{"schema", "palimpsest.session/1"},
                                     {"session", session_},
                                     {"protocol", name_of(protocol)},
                                     {"question", steered ? ordered_json(session.question()) : ordered_json()},
                                     {"tokens_seen", map.tokens_seen},
                                     {"coverage", coverage.json()},
                                     {"reach", reach_json(map)},
                                     {"memory", memory_json(session.session().telemetry())},
                                     {"notes", costs_json(session.notes())},
                                     {"tokens_fed_again", session.tokens_fed_again()},
                                     {"bytes_written", session.bytes_written()},
                                     {"backend", backend_json(session.model(), session.lost_device())},
                                     {"model", model_json(session.model())},
                                     {"policy", policy_json(session.session())},
                                     {"pins", pins_json(session.session())}});
            return;
        }
        if (!common_.events && protocol == Protocol::Steered)
            console.err << console.wording.of(Text("question: {0}", visible(session.question()))) << '\n';
        write_receipt(console, common_.events, session.session(), coverage, protocol);
        if (notes_ && !common_.events)
            console.err << console.wording.of(Text("notes:    {0}", summary_of(session.notes()))) << '\n';
    }

private:
    using Source = std::variant<storage::Document*, int64_t>; // a file, or the id of a stored document

    // FILE and --document, which CLI11 keeps apart, as they stand on the command line. Documents of an exported
    // file, which come before those of --document in `stored`, stay before them.
    std::vector<Source> in_order_given(const Documents& documents, const std::vector<int64_t>& stored) const
    {
        std::vector<Source> all;
        size_t file = 0, document = stored.size() - documents_.size();
        all.insert(all.end(), stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(document));
        for (const CLI::Option* option : command_->parse_order()) {
            if (option == document_)
                all.emplace_back(stored[document++]);
            else if (option == file_ && !documents.empty())
                all.emplace_back(documents[file++].get());
        }
        for (; file < documents.size(); ++file) // CLI11 takes "[a,b]" for two files in one place
            all.emplace_back(documents[file].get());
        return all;
    }

    // Stored documents that follow one another are appended to the session together (StoredSession::read_stored).
    static void read_all(StoredSession& session, const std::vector<Source>& sources)
    {
        for (size_t i = 0; i < sources.size();) {
            if (storage::Document* const* document = std::get_if<storage::Document*>(&sources[i])) {
                ++i;
                session.read(**document, i < sources.size());
                continue;
            }
            std::vector<int64_t> stored;
            for (; i < sources.size() && std::holds_alternative<int64_t>(sources[i]); ++i)
                stored.push_back(std::get<int64_t>(sources[i]));
            session.read_stored(stored, i < sources.size());
        }
    }

    // How an exported session is used. `session`: the exported session under the name of --session, if its cache
    // can be used; null if not. `documents`: then the ids of its documents, whose text is read into --session.
    struct Opened {
        std::unique_ptr<StoredSession> session;
        std::vector<int64_t> documents;
    };

    // Imports the exported file. If the reading is refused, the import is removed again.
    Opened open_export(storage::Store& store, ConsoleListener& listener, Console& console) const
    {
        const bool is_there = store.conversations.find(session_).has_value();
        if (!is_there) store.conversations.check_name(session_);
        storage::ExportFile exported = storage::export_for(store.database.file(), files_[0], console.stop);
        if (is_there)
            if (const auto found = storage::find_opened_export(store, exported, session_)) {
                tell_import(files_[0], *found, session_, common_.events, console);
                return {nullptr, documents_of(store, *found)};
            }
        const auto imported = open_given_export(store, exported, "", common_);
        try {
            if (imported.model && !is_there)
                if (auto session = going_on(store, imported, listener, console)) return {std::move(session), {}};
            Opened opened{std::make_unique<StoredSession>(store, session_, options_, listener),
                          documents_of(store, imported)};
            tell_import(files_[0], imported, imported.session.name, common_.events, console);
            if (!imported.has_settings) tell_read_anew(storage::settings_are_unreadable(), console);
            return opened;
        } catch (...) {
            if (imported.is_new) store.conversations.take_back(imported.session);
            throw;
        }
    }

    static std::vector<int64_t> documents_of(storage::Store& store, const storage::OpenedExport& imported)
    {
        return documents_in(storage::SessionStream(store.conversations.stream(imported.session.id)));
    }

    // The imported session under the name of --session, or a copy of the one that was imported before. Null if it
    // was begun with other options than those that are given.
    std::unique_ptr<StoredSession> going_on(storage::Store& store, const storage::OpenedExport& imported,
                                            ConsoleListener& listener, Console& console) const
    {
        const std::string own_name = imported.session.name;
        if (imported.is_new)
            store.conversations.rename(imported.session.id, session_);
        else
            storage::fork_session(store, own_name, session_);
        const storage::SessionInfo made = store.conversations.get(session_);
        const auto undo = [&] {
            if (imported.is_new)
                store.conversations.rename(imported.session.id, own_name);
            else
                store.conversations.take_back(made);
        };
        try {
            auto session = std::make_unique<StoredSession>(store, session_, options_, listener);
            if (documents_.empty() && !common_.pins.empty()) session->pin(common_.pins);
            tell_import(files_[0], imported, session_, common_.events, console);
            return session;
        } catch (const Error& error) {
            undo();
            if (error.code() != ErrorCode::SettingsDiffer) throw;
            tell_read_anew(error.text(), console);
            return nullptr;
        } catch (...) {
            undo();
            throw;
        }
    }

    void tell_read_anew(const Text& reason, Console& console) const
    {
        write_note(console, common_.events,
                   Text("its cache is not used, because {0}: its text is read anew", reason));
    }

    CLI::App* command_ = nullptr;
    CLI::Option *file_ = nullptr, *document_ = nullptr, *question_ = nullptr;
    CommonOptions common_;
    StoredOptions options_;
    std::vector<std::string> files_, documents_;
    std::string session_, database_;
    bool notes_ = false;
};

} // namespace

std::unique_ptr<Command> make_read(CLI::App& parent)
{
    return std::make_unique<Read>(parent);
}

} // namespace palimpsest::app
