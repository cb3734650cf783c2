// `sessions`: lists and manages stored sessions.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/output_file.h"
#include "app/palimpsest/progress.h"
#include "app/palimpsest/subcommands.h"
#include "app/palimpsest/table.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/export_file.h"
#include "storage/rescue.h"
#include "storage/restoring.h"
#include "storage/session/cache_collection.h"
#include "storage/session/document_report.h"
#include "storage/session/exported_session.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_verification.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "storage/transcript/transcript.h"
#include "storage/transcript/transcript_format.h"
#include "storage/transcript/transcript_words.h"
#include "storage/transfer.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::budget_text;
using storage::Message;
using storage::open_store;
using storage::SessionInfo;
using storage::SnapshotInfo;
using storage::Store;
using storage::StoredOptions;
using storage::utc_minute;
using Access = storage::Database::Access;

Text role_name(storage::Role role)
{
    return role == storage::Role::User ? Text("user") : Text("assistant");
}

Text state_name(storage::MessageState state)
{
    static const Text names[] = {Text("growing"), Text("complete"), Text("stopped"), Text("cut")};
    return names[std::min<size_t>(static_cast<size_t>(state), std::size(names) - 1)];
}

Text sessions_text(uint64_t count)
{
    return count == 1 ? Text("1 session") : Text("{0} sessions", count);
}

Text documents_text(uint64_t count)
{
    return count == 1 ? Text("1 document") : Text("{0} documents", count);
}

Text messages_text(uint64_t count)
{
    return count == 1 ? Text("1 message") : Text("{0} messages", count);
}

class Sessions final : public Command {
public:
    explicit Sessions(CLI::App& parent)
        : subcommands_(*parent.add_subcommand("sessions", "what is stored, and what to do with it"), database_,
                       json_)
    {
        const auto add = [this](const char* name, const char* meaning, void (Sessions::*action)(Console&)) {
            return subcommands_.add(name, meaning, action);
        };
        const auto named = [&](CLI::App* command) {
            command->add_option("NAME", name_, "the session's name")->required();
            return command;
        };
        const auto named_or_file = [&](CLI::App* command) {
            command->add_option("NAME", name_, "the session's name, or an exported session")->required();
            return command;
        };
        add("list", "all sessions, the last used first", &Sessions::list);
        named_or_file(add("show", "one session: its documents, messages and saved states", &Sessions::show));
        named(add("rename", "another name", &Sessions::rename))->add_option("TO", other_)->required();
        named(add("rm", "delete a session for good", &Sessions::remove));
        named(add("fork", "a second session that goes on from the same point", &Sessions::fork))
            ->add_option("TO", other_)
            ->required();
        export_ =
            named(add("export", "write a session to one file, which another machine with its model goes on with",
                      &Sessions::export_file));
        export_->add_option("FILE", file_, "a new file")->required();
        export_
            ->add_option(
                "--snapshot", common_.snapshot,
                "the form of the cache in the file: exact, or rounded to q8 or q4, about half or a third of "
                "the size; absent: as the session has it; the session stays as it is")
            ->check(CLI::IsMember({"exact", "q8", "q4"}));
        add_backend_options(*export_, common_);
        CLI::App* import = add("import", "take in a session that was exported", &Sessions::import_file);
        import->add_option("FILE", file_, "an exported session")->required();
        import->add_option("--name", name_, "another name than it had");
        CLI::App* transcript = named_or_file(
            add("transcript", "write what was said in a session as Markdown, HTML or JSON", &Sessions::transcript));
        transcript
            ->add_option("--format", format_,
                         "absent: by the ending of --output, else Markdown; html is one page to read and print")
            ->check(CLI::IsMember({"markdown", "html", "json"}))
            ->excludes(transcript->get_option("--json"));
        transcript->add_option("-o,--output", file_, "a new file instead of standard output");
        transcript->add_flag("--force", force_, "replace the file if it is there already");
        named_or_file(add("verify", "read everything of a session and compare its checksums", &Sessions::verify));
        named(add("strip", "keep the text, free the cache", &Sessions::strip));
        CLI::App* backup = add("backup", "copy all sessions and documents to one file", &Sessions::back_up_all);
        backup->add_option("FILE", file_, "a new file")->required();
        CLI::App* restore = add("restore", "put a backup in the place of the database, which is set aside",
                                &Sessions::restore_backup);
        restore->add_option("BACKUP", file_,
                            "one of the daily backups, or a file of sessions backup; else the newest");
        restore->add_flag("--list", list_, "only list the backups");
        CLI::App* rescue =
            add("rescue", "make a new database of what can be read of a damaged one, which is set aside",
                &Sessions::rescue_damaged);
        rescue->add_flag("--list", list_, "only tell what would be rescued and what is lost");
        rescue->add_flag("--force", force_, "make it even if nothing is damaged")->excludes("--list");
        add_events_option(*rescue, common_);
        CLI::App* gc = add("gc", "free the caches of the sessions used longest ago until all is within a size",
                           &Sessions::collect);
        gc->add_option("--max-size", max_size_, "of the database, such as 2GiB")->required();
        gc->add_flag("--dry-run", dry_run_, "only say which caches would be freed, and what each frees");
    }
    bool chosen() const override { return subcommands_.chosen(); }
    bool wants_json() const override { return json_; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override { subcommands_.run(*this, console); }

private:
    std::unique_ptr<Store> open(Access access) const { return open_store(database_, access); }

    // The database with the session NAME, or the exported file NAME, if no session has this name; then name_
    // becomes that of its session.
    std::unique_ptr<Store> open_named(const Console& console)
    {
        if (!storage::is_export(name_)) return open(Access::Read);
        try {
            auto store = open(Access::Read);
            if (store->conversations.find(name_)) return store;
        } catch (const Error&) {
            // There is no database, or a damaged one: the file needs none.
        }
        const std::string file = std::exchange(name_, storage::ExportFile(name_, console.stop).session().name);
        return std::make_unique<Store>(file, Access::Immutable, storage::CheckLimit());
    }

    // A stored setting: "question" (steering question) or "system" (system prompt); null if unset or if the
    // settings cannot be parsed.
    static ordered_json setting(const SessionInfo& info, const char* name)
    {
        const auto options = ordered_json::parse(info.options, nullptr, false);
        return options.is_object() ? options.value(name, ordered_json()) : ordered_json();
    }

    ordered_json summary(Store& store, const SessionInfo& info) const
    {
        uint64_t bytes = 0, seen = 0;
        for (const SnapshotInfo& snapshot : store.snapshots.of(info.id)) {
            bytes += snapshot.bytes;
            seen = std::max(seen, snapshot.tokens_seen);
        }
        return {{"name", info.name},
                {"model", info.model_name},
                {"tokens", tokens_of(store.conversations.stream(info.id))},
                {"tokens_saved", seen},
                {"state_bytes", bytes},
                {"changed", utc_minute(info.changed_ms)},
                {"question", setting(info, "question")},
                {"system", setting(info, "system")}};
    }

    void list(Console& console)
    {
        const auto store = open(Access::Read);
        ordered_json all = ordered_json::array();
        for (const SessionInfo& info : store->conversations.list())
            all.push_back(summary(*store, info));
        if (json_) return write_json(console.out, {{"schema", "palimpsest.sessions/1"}, {"sessions", all}});
        Table table;
        for (const ordered_json& s : all)
            table.add({s["name"], console.wording.of(Text("{0} tokens", format_count(s["tokens"]))),
                       format_bytes(s["state_bytes"]), s["changed"], s["model"]});
        table.write_rows(console);
    }

    void show(Console& console)
    {
        const auto store = open_named(console);
        const SessionInfo info = store->conversations.get(name_);
        ordered_json result = {{"schema", "palimpsest.session-details/1"}};
        result.update(summary(*store, info));
        auto options = ordered_json::parse(info.options, nullptr, false);
        if (options.is_object() && options.value("budget", ordered_json()) == engine::no_budget)
            options["budget"] = budget_text(engine::no_budget);
        result["options"] = options.is_discarded() ? ordered_json(info.options) : options;
        auto& documents = result["documents"] = ordered_json::array();
        std::set<int64_t> in_stream; // messages in the stream; replaced answers are not
        uint64_t end = 0;
        for (const storage::StreamPart& part : store->conversations.stream(info.id)) {
            const uint64_t first = std::exchange(end, end + storage::tokens_of(part));
            if (const auto* message = storage::message_in(part)) in_stream.insert(*message->id);
            const storage::StreamDocument* document = storage::document_in(part);
            if (!document) continue;
            const storage::DocumentInfo d = store->library.get(document->id);
            documents.push_back(storage::DocumentReport::of(store->library, d, first).json());
            documents.back().update({{"source", d.source}, {"words", d.words}});
        }
        auto& messages = result["messages"] = ordered_json::array();
        for (const Message& m : store->conversations.messages(info.id)) {
            messages.push_back({{"role", for_scripts(role_name(m.role))},
                                {"state", for_scripts(m.damaged ? Text("damaged") : state_name(m.state))},
                                {"text", m.text}});
            if (!in_stream.contains(m.id)) messages.back()["replaced"] = true;
        }
        auto& states = result["states"] = ordered_json::array();
        for (const SnapshotInfo& s : store->snapshots.of(info.id))
            states.push_back({{"tokens_seen", s.tokens_seen},
                              {"bytes", s.bytes},
                              {"saved", utc_minute(s.created_ms)},
                              {"form", storage::name_of(s.form)}});
        if (json_) return write_json(console.out, result);
        print(info, result, console);
    }

    // The words of a JSON document are patterns, too.
    static void print(const SessionInfo& info, const ordered_json& details, Console& console)
    {
        const CommandWording& wording = console.wording;
        const auto shown = [](const ordered_json& text) { return visible(text.get<std::string>()); };
        const auto on_line = [&](const std::string& text) { return row_text(text, console.out_is_terminal); };
        const auto line = [&](const Text& text) { console.out << wording.of(text) << '\n'; };
        line(Text("{0}, {1}, last used {2}", on_line(info.name), on_line(info.model_name),
                  utc_minute(info.changed_ms)));
        if (details["question"].is_string()) line(Text("question  {0}", shown(details["question"])));
        if (details["system"].is_string()) line(Text("system    {0}", shown(details["system"])));
        for (const ordered_json& d : details["documents"]) {
            const std::string title = on_line(d["title"]), tokens = format_count(d["tokens"]),
                              source = on_line(d["source"]);
            const size_t sections = d["sections"].size();
            line(sections == 1 ? Text("document  {0}, {1} tokens, 1 section ({2})", title, tokens, source)
                               : Text("document  {0}, {1} tokens, {2} sections ({3})", title, tokens,
                                      format_count(sections), source));
        }
        for (const ordered_json& s : details["states"]) {
            const std::string tokens = format_count(s["tokens_seen"]), bytes = format_bytes(s["bytes"]),
                              saved = s["saved"], form = s["form"];
            line(form == storage::name_of(storage::SnapshotForm::Exact)
                     ? Text("state     at {0} tokens, {1}, {2}", tokens, bytes, saved)
                     : Text("state     at {0} tokens, {1}, rounded to {3}, {2}", tokens, bytes, saved, form));
        }
        for (const ordered_json& m : details["messages"]) {
            const std::string state = m["state"], role = wording.pattern(m["role"].get<std::string>());
            console.out << '\n'
                        << role << (state == "complete" ? "" : " (" + wording.pattern(state) + ")")
                        << (m.contains("replaced") ? wording.of(Text(", replaced by the next")) : "") << ":\n"
                        << shown(m["text"]) << '\n';
        }
    }

    void rename(Console&)
    {
        const auto store = open(Access::Write);
        store->conversations.rename(store->conversations.get(name_).id, other_);
    }

    void remove(Console& console)
    {
        const auto store = open(Access::Write);
        const auto backup_error = store->conversations.remove(store->conversations.get(name_).id);
        if (backup_error)
            write_note(console, false, Text("what is left has no backup now: {0}", sentence_of(*backup_error)));
    }

    void fork(Console&)
    {
        const auto store = open(Access::Write);
        storage::fork_session(*store, name_, other_);
    }

    void export_file(Console& console)
    {
        storage::require_absent(file_);
        const auto store = open(Access::Read);
        const SessionInfo session = store->conversations.get(name_);
        const bool is_given = common_.given(Setting::Snapshot);
        const storage::SnapshotForm form = common_.snapshot_form();
        tell_export(is_given && storage::needs_rounding(*store, session, form)
                        ? export_rounded(*store, session, form, console)
                        : export_as_it_is(*store, session, is_given ? std::optional(form) : std::nullopt, console),
                    console);
    }

    storage::WrittenExport export_rounded(Store& store, const SessionInfo& session, storage::SnapshotForm form,
                                          Console& console)
    {
        ConsoleListener listener(console, false);
        StoredOptions options;
        options.choice = common_;
        return storage::export_rounded(store, session, file_, form, options, listener);
    }

    // `form`: what was asked for; nullopt: nothing.
    storage::WrittenExport export_as_it_is(Store& store, const SessionInfo& session,
                                           std::optional<storage::SnapshotForm> form, Console& console) const
    {
        const auto states = store.snapshots.of(session.id);
        if (!json_ && states.empty())
            write_note(console, false, Text("it has no cache: who opens the file reads its text again"));
        else if (!json_ && form && *form != states.front().form)
            write_note(console, false,
                       Text("its cache was rounded to {0} when it was saved, and stays so",
                            std::string(storage::name_of(states.front().form))));
        return storage::export_session(store.database, session.id, file_);
    }

    void tell_export(const storage::WrittenExport& written, Console& console) const
    {
        const storage::ExportContents& holds = written.holds;
        const bool has_cache = holds.cache_bytes > 0;
        if (json_)
            return write_json(console.out,
                              {{"schema", "palimpsest.export/1"},
                               {"file", file_},
                               {"session", holds.session},
                               {"model", holds.model},
                               {"documents", holds.documents},
                               {"tokens", holds.tokens},
                               {"notes", holds.notes},
                               {"messages", holds.messages},
                               {"form", has_cache ? ordered_json(storage::name_of(holds.form)) : ordered_json()},
                               {"cache_bytes", holds.cache_bytes},
                               {"bytes", holds.bytes},
                               {"damaged_messages", written.losses.messages},
                               {"damaged_notes", written.losses.notes},
                               {"damaged_sources", written.losses.sources},
                               {"mended_names", written.losses.names}});
        for (const Text& loss : written.losses.sentences())
            write_note(console, false, loss);
        const Text cache = has_cache ? Text("{0} ({1}) of {2}", format_bytes(holds.cache_bytes),
                                            std::string(storage::name_of(holds.form)), visible(holds.model))
                                     : Text("nothing");
        console.err << console.wording.of(Text(
                           "{0}: documents: {1}, tokens: {2}, notes: {3}, messages: {4}, cache: {5}, in all {6}",
                           visible(file_), holds.documents, format_count(holds.tokens), holds.notes, holds.messages,
                           cache, format_bytes(holds.bytes)))
                    << '\n';
    }

    storage::TranscriptFormat transcript_format() const
    {
        if (json_) return storage::TranscriptFormat::Json;
        const auto format =
            format_.empty() ? storage::transcript_format_of(file_) : storage::transcript_format(format_);
        return format.value_or(storage::TranscriptFormat::Markdown);
    }

    void transcript(Console& console)
    {
        const auto store = open_named(console);
        const auto transcript = storage::Transcript::of(*store, store->conversations.get(name_));
        if (file_.empty())
            return storage::write_transcript(transcript, transcript_format(), console.wording, console.out);
        if (!force_) storage::require_absent(file_);
        OutputFile file(file_);
        storage::write_transcript(transcript, transcript_format(), console.wording, file.stream());
        file.commit();
    }

    void import_file(Console& console)
    {
        const auto store = open(Access::Write);
        const storage::OpenedExport opened = imported(*store, console);
        const std::string& name = opened.session.name;
        if (!opened.has_settings)
            write_note(console, false,
                       Text("{0}; its text can be shown and searched", storage::settings_are_unreadable()));
        if (json_) return write_json(console.out, {{"schema", "palimpsest.import/1"}, {"name", name}});
        console.out << visible(name) << '\n';
    }

    // Without --name, a session that was imported from the same file before is taken.
    storage::OpenedExport imported(Store& store, const Console& console) const
    {
        storage::ExportFile file = storage::export_for(store.database.file(), file_, console.stop);
        const bool is_taken = store.conversations.find(file.session().name).has_value();
        const bool is_there = storage::imported_session(store.database, file.identity()).has_value();
        const std::string name = name_.empty() && is_taken && !is_there ? file.session().name : name_;
        return storage::open_export(store, file, name);
    }

    void verify(Console& console)
    {
        const auto store = open_named(console);
        const auto [info, tokens] = storage::verified_session(*store, name_);
        if (json_)
            return write_json(console.out, {{"schema", "palimpsest.session-check/1"},
                                            {"name", info.name},
                                            {"document_tokens", tokens},
                                            {"valid", true}});
        console.out << console.wording.of(Text("{0}: valid", visible(info.name))) << '\n';
    }

    void strip(Console&)
    {
        const auto store = open(Access::Write);
        store->snapshots.remove_all(store->conversations.get(name_).id);
        store->database.shrink();
    }

    void back_up_all(Console& console)
    {
        storage::require_absent(file_);
        const auto store = open(Access::Read);
        store->database.guarded([&] { storage::back_up(store->database.sql(), std::filesystem::absolute(file_)); });
        std::error_code unknown;
        const uint64_t bytes = std::filesystem::file_size(file_, unknown);
        const size_t sessions = store->conversations.list().size();
        if (json_)
            return write_json(
                console.out,
                {{"schema", "palimpsest.backup/1"}, {"file", file_}, {"bytes", bytes}, {"sessions", sessions}});
        console.err << console.wording.of(
                           Text("{0}: {1}, {2}", visible(file_), format_bytes(bytes), sessions_text(sessions)))
                    << '\n';
    }

    void restore_backup(Console& console)
    {
        const std::filesystem::path database = storage::database_file(database_);
        const auto backups = storage::backups_of(database);
        if (list_) return list_backups(backups, console);
        if (file_.empty() && backups.empty())
            throw Error(ErrorKind::NotFound, ErrorCode::DatabaseNotFound, Text::escaped(database.string()),
                        Text("it has no backup yet"), Text("give the file of one"));
        const auto restored = storage::restore(database, file_.empty() ? backups.back().string() : file_);
        if (json_)
            return write_json(console.out, {{"schema", "palimpsest.restored/1"},
                                            {"backup", restored.backup.string()},
                                            {"sessions", restored.sessions},
                                            {"set_aside", restored.aside.string()}});
        const std::string from = visible(restored.backup.string());
        console.err << console.wording.of(
                           restored.sessions == 1
                               ? Text("1 session is back, as it was in {0}", from)
                               : Text("{0} sessions are back, as they were in {1}", restored.sessions, from))
                    << '\n';
        if (!restored.aside.empty())
            console.err << console.wording.of(
                               Text("what was there before is in {0}", visible(restored.aside.string())))
                        << '\n';
    }

    void list_backups(const std::vector<std::filesystem::path>& backups, Console& console) const
    {
        ordered_json all = ordered_json::array();
        std::error_code unknown;
        for (const std::filesystem::path& file : backups) {
            all.push_back({{"file", file.string()}, {"bytes", std::filesystem::file_size(file, unknown)}});
        }
        if (json_) return write_json(console.out, {{"schema", "palimpsest.backups/1"}, {"backups", all}});
        Table table;
        for (const ordered_json& backup : all)
            table.add({backup["file"], format_bytes(backup["bytes"])});
        table.write_rows(console);
    }

    void rescue_damaged(Console& console)
    {
        const storage::Rescued rescued = rescued_with_progress(console);
        if (json_) return write_json(console.out, rescue_json(rescued));
        for (const storage::Loss& loss : rescued.losses)
            console.out << console.wording.of(sentence_of(loss)) << '\n';
        const auto tell = [&](const Text& text) {
            if (common_.events)
                write_note(console, true, text);
            else
                console.err << console.wording.of(text) << '\n';
        };
        if (!rescued.is_damaged)
            return tell(
                Text("nothing is damaged, and nothing was changed; --force makes a new database all the same"));
        const Text sessions = sessions_text(rescued.sessions), documents = documents_text(rescued.documents),
                   messages = messages_text(rescued.messages);
        tell(list_ ? Text("{0}, {1} and {2} can be rescued", sessions, documents, messages)
                   : Text("{0}, {1} and {2} are rescued", sessions, documents, messages));
        if (!rescued.report.empty()) tell(Text("what is lost is listed in {0}", visible(rescued.report.string())));
        if (!rescued.aside.empty()) tell(Text("what was there before is in {0}", visible(rescued.aside.string())));
    }

    storage::Rescued rescued_with_progress(Console& console) const
    {
        const auto mode = list_    ? storage::RescueMode::TryOnly
                          : force_ ? storage::RescueMode::Replace
                                   : storage::RescueMode::ReplaceDamaged;
        Progress progress(console, Progress::style_for(console, common_.events));
        const auto go_on = [&](int percent) {
            progress.update(Text("Reading what can be rescued"), percent);
            return !console.stop.stop_requested();
        };
        return storage::rescue(storage::database_file(database_), mode, go_on, &console.wording);
    }

    static ordered_json rescue_json(const storage::Rescued& rescued)
    {
        ordered_json losses = ordered_json::array();
        for (const storage::Loss& loss : rescued.losses)
            losses.push_back({{"session", loss.session.empty() ? ordered_json() : ordered_json(loss.session)},
                              {"part", storage::name_of(loss.part)},
                              {"name", loss.name},
                              {"count", loss.count},
                              {"text", for_scripts(sentence_of(loss))}});
        return {{"schema", "palimpsest.rescue/1"},     {"damaged", rescued.is_damaged},
                {"sessions", rescued.sessions},        {"documents", rescued.documents},
                {"messages", rescued.messages},        {"losses", losses},
                {"set_aside", rescued.aside.string()}, {"report", rescued.report.string()}};
    }

    void collect(Console& console)
    {
        const auto most = parse_bytes(max_size_);
        if (!most)
            throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text::verbatim("--max-size"),
                        Text("'{0}' is not possible", printable(max_size_)),
                        Text("give a size such as 500MB or 2GiB"));
        const auto store = open_store(database_, Access::Write, console.stop);
        const auto plan = storage::plan_collection(*store, *most, console.stop);
        if (!dry_run_) free_caches(*store, plan, console);
        const uint64_t size = dry_run_ ? plan.after : store->database.file_bytes();
        const auto unused = storage::unused_files(store->database.file());
        json_ ? write_json(console.out, collection_json(plan, size, store->removed, unused))
              : print(plan, size, store->removed, unused, console);
        if (size > *most)
            throw Error(ErrorKind::Failed, ErrorCode::DatabaseAboveLimit, Text("database"),
                        Text("the text alone takes {0}", format_bytes(size)), Text(Step::RemoveSessions));
    }

    static void free_caches(Store& store, const storage::CacheCollection& plan, Console& console)
    {
        int tenths_said = 0;
        storage::free_caches(
            store, plan, console.stop,
            [&, number = size_t{0}](const storage::FreedCache& cache) mutable {
                write_note(
                    console, false,
                    Text("[{0}/{1}] {2}: its cache is freed", ++number, plan.caches.size(), visible(cache.name)));
            },
            [&](int percent) {
                if (percent / 10 <= tenths_said) return;
                tenths_said = percent / 10;
                write_note(console, false, Text("free space given back: {0} %", percent));
            });
    }

    using Files = std::vector<storage::UnusedFile>;

    static ordered_json files_json(const Files& files)
    {
        ordered_json all = ordered_json::array();
        for (const storage::UnusedFile& file : files)
            all.push_back({{"file", file.path.string()}, {"bytes", file.bytes}});
        return all;
    }

    ordered_json collection_json(const storage::CacheCollection& plan, uint64_t size, const Files& left,
                                 const Files& unused) const
    {
        ordered_json result = {{"schema", "palimpsest.gc/1"},
                               {"preview", dry_run_},
                               {"bytes_before", plan.before},
                               {"bytes", size},
                               {"sessions_stripped", plan.caches.size()}};
        auto& sessions = result["sessions"] = ordered_json::array();
        for (const storage::FreedCache& cache : plan.caches)
            sessions.push_back({{"name", cache.name},
                                {"changed", utc_minute(cache.changed_ms)},
                                {"freed", cache.bytes},
                                {"bytes", cache.after}});
        result["unused_files"] = files_json(unused);
        result["left_overs"] = files_json(left);
        return result;
    }

    void print(const storage::CacheCollection& plan, uint64_t size, const Files& left, const Files& unused,
               Console& console) const
    {
        Table table;
        for (const storage::FreedCache& cache : plan.caches)
            table.add(
                {cache.name, format_bytes(cache.bytes), format_bytes(cache.after), utc_minute(cache.changed_ms)});
        table.write_rows(console);
        const size_t count = plan.caches.size();
        const std::string bytes = format_bytes(size);
        const Text lost = count == 1 ? Text("{0}, 1 session would lose its cache", bytes)
                                     : Text("{0}, {1} sessions would lose their caches", bytes, count),
                   freed = count == 1 ? Text("{0}, 1 session stripped of its cache", bytes)
                                      : Text("{0}, {1} sessions stripped of their caches", bytes, count);
        console.out << console.wording.of(dry_run_ ? lost : freed) << '\n';
        for (const storage::UnusedFile& file : left)
            write_note(console, false,
                       Text("{0} ({1}) was left by a program that was killed; it is removed",
                            visible(file.path.string()), format_bytes(file.bytes)));
        for (const storage::UnusedFile& file : unused)
            write_note(console, false,
                       Text("nothing uses {0} ({1})", visible(file.path.string()), format_bytes(file.bytes)));
    }

    CLI::App* export_ = nullptr;
    CommonOptions common_; // of export
    std::string name_, other_, file_, format_, max_size_, database_;
    bool json_ = false, list_ = false, force_ = false, dry_run_ = false;
    Subcommands<Sessions> subcommands_;
};

} // namespace

std::unique_ptr<Command> make_sessions(CLI::App& parent)
{
    return std::make_unique<Sessions>(parent);
}

} // namespace palimpsest::app
