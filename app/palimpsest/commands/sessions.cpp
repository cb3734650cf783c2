// `sessions`: lists and manages stored sessions.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <set>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_verification.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
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
using Access = storage::Database::Access;

std::string utc(int64_t milliseconds)
{
    const std::time_t seconds = milliseconds / 1000;
    std::tm fields{};
    gmtime_r(&seconds, &fields);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &fields);
    return text;
}

const char* role_name(storage::Role role)
{
    return role == storage::Role::User ? "user" : "assistant";
}

const char* state_name(storage::MessageState state)
{
    constexpr const char* names[] = {"growing", "complete", "stopped", "cut"};
    return names[std::min<size_t>(static_cast<size_t>(state), std::size(names) - 1)];
}

class Sessions final : public Command {
public:
    explicit Sessions(CLI::App& parent)
    {
        sessions_ = parent.add_subcommand("sessions", "what is stored, and what to do with it");
        sessions_->require_subcommand(1);
        const auto add = [&](const char* name, const char* meaning, void (Sessions::*action)(Console&)) {
            CLI::App* command = sessions_->add_subcommand(name, meaning);
            actions_.push_back({command, action});
            add_database_option(*command, database_);
            command->add_flag("--json", json_, "print one JSON document");
            return command;
        };
        const auto named = [&](CLI::App* command) {
            command->add_option("NAME", name_, "the session's name")->required();
            return command;
        };
        add("list", "all sessions, the last used first", &Sessions::list);
        named(add("show", "one session: its documents, messages and saved states", &Sessions::show));
        named(add("rename", "another name", &Sessions::rename))->add_option("TO", other_)->required();
        named(add("rm", "delete a session for good", &Sessions::remove));
        named(add("fork", "a second session that goes on from the same point", &Sessions::fork))
            ->add_option("TO", other_)
            ->required();
        named(add("export", "write a session to one file", &Sessions::export_file))
            ->add_option("FILE", file_, "a new file")
            ->required();
        CLI::App* import = add("import", "take in a session that was exported", &Sessions::import_file);
        import->add_option("FILE", file_, "an exported session")->required();
        import->add_option("--name", name_, "another name than it had");
        named(add("verify", "read everything of a session and compare its checksums", &Sessions::verify));
        named(add("strip", "keep the text, free the cache", &Sessions::strip));
        add("gc", "free the caches of the sessions used longest ago until all is within a size", &Sessions::collect)
            ->add_option("--max-size", max_size_, "of the database, such as 2GiB")
            ->required();
    }
    bool chosen() const override { return sessions_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        for (const auto& [command, action] : actions_)
            if (command->parsed()) return (this->*action)(console);
    }

private:
    struct Action {
        CLI::App* command;
        void (Sessions::*action)(Console&);
    };

    std::unique_ptr<Store> open(Access access) const { return open_store(database_, access); }

    // A stored setting: "question" (steering question) or "system" (system prompt); null if unset or if the
    // settings cannot be parsed.
    static ordered_json setting(const SessionInfo& info, const char* name)
    {
        const auto options = ordered_json::parse(info.options, nullptr, false);
        return options.is_object() ? options.value(name, ordered_json()) : ordered_json();
    }

    ordered_json summary(Store& store, const SessionInfo& info) const
    {
        uint64_t bytes = 0, tokens = 0, seen = 0;
        for (const SnapshotInfo& snapshot : store.snapshots.of(info.id)) {
            bytes += snapshot.bytes;
            seen = std::max(seen, snapshot.tokens_seen);
        }
        for (const storage::StreamPart& part : store.conversations.stream(info.id))
            tokens += tokens_of(part);
        return {{"name", info.name},
                {"model", info.model_name},
                {"tokens", tokens},
                {"tokens_saved", seen},
                {"state_bytes", bytes},
                {"changed", utc(info.changed_ms)},
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
        for (const ordered_json& s : all)
            console.out << visible(s["name"].get<std::string>()) << '\t' << format_count(s["tokens"]) << " tokens\t"
                        << format_bytes(s["state_bytes"]) << '\t' << s["changed"].get<std::string>() << '\t'
                        << visible(s["model"].get<std::string>()) << '\n';
    }

    void show(Console& console)
    {
        const auto store = open(Access::Read);
        const SessionInfo info = store->conversations.get(name_);
        ordered_json result = {{"schema", "palimpsest.session-details/1"}};
        result.update(summary(*store, info));
        auto options = ordered_json::parse(info.options, nullptr, false);
        if (options.is_object() && options.value("budget", ordered_json()) == engine::no_budget)
            options["budget"] = budget_text(engine::no_budget);
        result["options"] = options.is_discarded() ? ordered_json(info.options) : options;
        auto& documents = result["documents"] = ordered_json::array();
        std::set<int64_t> in_stream; // messages in the stream; replaced answers are not
        for (const storage::StreamPart& part : store->conversations.stream(info.id)) {
            if (const auto* message = storage::message_in(part)) in_stream.insert(*message->id);
            const storage::StreamDocument* document = storage::document_in(part);
            if (!document) continue;
            const storage::DocumentInfo d = store->library.get(document->id);
            ordered_json sections = ordered_json::array();
            for (const storage::Section& s : store->library.sections(d.id))
                sections.push_back(
                    {{"title", s.title}, {"first_token", s.first_token}, {"first_byte", s.first_byte}});
            documents.push_back({{"title", d.title},
                                 {"source", d.source},
                                 {"tokens", d.tokens},
                                 {"words", d.words},
                                 {"sections", sections}});
        }
        auto& messages = result["messages"] = ordered_json::array();
        for (const Message& m : store->conversations.messages(info.id)) {
            messages.push_back({{"role", role_name(m.role)},
                                {"state", m.damaged ? "damaged" : state_name(m.state)},
                                {"text", m.text}});
            if (!in_stream.contains(m.id)) messages.back()["replaced"] = true;
        }
        auto& states = result["states"] = ordered_json::array();
        for (const SnapshotInfo& s : store->snapshots.of(info.id))
            states.push_back({{"tokens_seen", s.tokens_seen}, {"bytes", s.bytes}, {"saved", utc(s.created_ms)}});
        if (json_) return write_json(console.out, result);
        console.out << visible(info.name) << ", " << visible(info.model_name) << ", last used "
                    << utc(info.changed_ms) << '\n';
        if (result["question"].is_string())
            console.out << "question  " << visible(result["question"].get<std::string>()) << '\n';
        if (result["system"].is_string())
            console.out << "system    " << visible(result["system"].get<std::string>()) << '\n';
        for (const ordered_json& d : documents)
            console.out << "document  " << visible(d["title"].get<std::string>()) << ", "
                        << format_count(d["tokens"]) << " tokens, " << format_count(d["sections"].size())
                        << (d["sections"].size() == 1 ? " section (" : " sections (")
                        << visible(d["source"].get<std::string>()) << ")\n";
        for (const ordered_json& s : states)
            console.out << "state     at " << format_count(s["tokens_seen"]) << " tokens, "
                        << format_bytes(s["bytes"]) << ", " << s["saved"].get<std::string>() << '\n';
        for (const ordered_json& m : messages) {
            const std::string state = m["state"];
            console.out << '\n'
                        << m["role"].get<std::string>() << (state == "complete" ? "" : " (" + state + ")")
                        << (m.contains("replaced") ? ", replaced by the next" : "") << ":\n"
                        << visible(m["text"].get<std::string>()) << '\n';
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

    void export_file(Console&)
    {
        const auto store = open(Access::Read);
        storage::export_session(store->database, store->conversations.get(name_).id, file_);
    }

    void import_file(Console& console)
    {
        const auto store = open(Access::Write);
        const std::string name = storage::import_session(store->database, file_, name_);
        if (json_) return write_json(console.out, {{"schema", "palimpsest.import/1"}, {"name", name}});
        console.out << visible(name) << '\n';
    }

    void verify(Console& console)
    {
        const auto store = open(Access::Read);
        const auto [info, tokens] = storage::verified_session(*store, name_);
        if (json_)
            return write_json(console.out, {{"schema", "palimpsest.session-check/1"},
                                            {"name", info.name},
                                            {"document_tokens", tokens},
                                            {"valid", true}});
        console.out << visible(info.name) << ": valid\n";
    }

    void strip(Console&)
    {
        const auto store = open(Access::Write);
        store->snapshots.remove_all(store->conversations.get(name_).id);
        store->database.shrink();
    }

    void collect(Console& console)
    {
        const auto most = parse_bytes(max_size_);
        if (!most)
            throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text::verbatim("--max-size"),
                        Text("'{0}' is not possible", printable(max_size_)),
                        Text("give a size such as 500MB or 2GiB"));
        const auto store = open(Access::Write);
        store->database.shrink();
        auto sessions = store->conversations.list();
        uint64_t stripped = 0;
        while (store->database.file_bytes() > *most && !sessions.empty()) {
            store->snapshots.remove_all(sessions.back().id);
            sessions.pop_back();
            store->database.shrink();
            ++stripped;
        }
        const uint64_t size = store->database.file_bytes();
        if (json_)
            write_json(console.out,
                       {{"schema", "palimpsest.gc/1"}, {"bytes", size}, {"sessions_stripped", stripped}});
        else
            console.out << format_bytes(size) << ", " << stripped << " sessions stripped of their caches\n";
        if (size > *most)
            throw Error(ErrorKind::Failed, ErrorCode::DatabaseAboveLimit, Text("database"),
                        Text("the text alone takes {0}", format_bytes(size)), Text(Step::RemoveSessions));
    }

    CLI::App* sessions_ = nullptr;
    std::vector<Action> actions_;
    std::string name_, other_, file_, max_size_, database_;
    bool json_ = false;
};

} // namespace

std::unique_ptr<Command> make_sessions(CLI::App& parent)
{
    return std::make_unique<Sessions>(parent);
}

} // namespace palimpsest::app
