// `library`: the documents that stay stored without a session.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <tuple>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/indexed_store.h"
#include "app/palimpsest/library_document.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/output_file.h"
#include "app/palimpsest/subcommands.h"
#include "app/palimpsest/table.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/passages/passage_places.h"
#include "storage/passages/passage_text_search.h"
#include "storage/session/document_folders.h"
#include "storage/session/document_report.h"
#include "storage/session/library_addition.h"
#include "storage/session/list_lengths.h"
#include "storage/session/store.h"
#include "storage/session/stored_notes.h"
#include "storage/transfer.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::AddedFile;
using storage::DocumentInfo;
using storage::Message;
using storage::open_store;
using storage::SessionInfo;
using storage::Store;
using Access = storage::Database::Access;

class LibraryCommand final : public Command {
public:
    explicit LibraryCommand(CLI::App& parent)
        : subcommands_(
              *parent.add_subcommand("library", "documents that stay stored, to be read and searched at any time"),
              database_, common_.json)
    {
        const auto add = [this](const char* name, const char* meaning, void (LibraryCommand::*action)(Console&)) {
            return subcommands_.add(name, meaning, action);
        };
        CLI::App* adding = add("add", "store documents, also all that are in a folder", &LibraryCommand::add);
        adding->add_option("FILE", names_, "documents, and folders of documents")->required();
        add_backend_options(*adding, common_);
        add("list", "all documents", &LibraryCommand::list);
        add("show", "one document: what it says of itself, its sections and sessions", &LibraryCommand::show)
            ->add_option("DOCUMENT", document_, "the document's number or title")
            ->required();
        CLI::App* search = add("search", "find words in all documents and chats", &LibraryCommand::search);
        search->add_option("WORDS", words_, "words, or a phrase between quotation marks")->required();
        search->add_option("--limit", limit_, "print at most so many passages, and so many messages")
            ->capture_default_str()
            ->check(CLI::Range(size_t{1}, size_t{10000}));
        CLI::App* exporting = add("export", "write the text of a document to a file", &LibraryCommand::export_text);
        exporting->add_option("DOCUMENT", document_, "the document's number or title")->required();
        exporting->add_option("FILE", file_, "a new file, or - for standard output")->required();
        add("rm", "take documents out of the library, and delete for good what no session has",
            &LibraryCommand::remove)
            ->add_option("DOCUMENT", names_, "the documents' numbers or titles")
            ->required();
    }
    bool chosen() const override { return subcommands_.chosen(); }
    bool wants_json() const override { return common_.json; }

    void run(Console& console) override { subcommands_.run(*this, console); }

private:
    // ---- add

    void add(Console& console)
    {
        const auto found = storage::find_documents(names_, console.stop);
        if (console.stop.stop_requested()) throw stopped(0, found.files.size());
        const auto model = load_chosen_model(common_, console);
        const auto store = open_store(database_, Access::Write, console.stop);
        std::vector<AddedFile> additions;
        try {
            add_all(found.files, *store, model, additions, console);
        } catch (const storage::Interrupted&) {
            if (common_.json) print_json(additions, found, true, *store, console);
            if (found.files.size() == 1) throw;
            throw stopped(additions.size(), found.files.size());
        }
        name_what_was_left_out(found, console);
        if (common_.json) print_json(additions, found, false, *store, console);
        refuse_failures(additions);
    }

    void add_all(const std::vector<std::string>& files, Store& store,
                 const std::shared_ptr<const engine::Model>& model, std::vector<AddedFile>& additions,
                 Console& console) const
    {
        ConsoleListener listener(console, common_.events);
        storage::LibraryAddition addition(store, model, listener);
        for (const std::string& file : files) {
            additions.push_back(addition.add(file, console.in));
            if (files.size() == 1 && additions.back().error) throw Error(*additions.back().error);
            if (!common_.json) print(additions, files.size(), console);
        }
    }

    static storage::Interrupted stopped(size_t added, size_t all)
    {
        return {Text("stopped after {0} of {1} files, which are stored; give it again for the others", added, all)};
    }

    static void print(const std::vector<AddedFile>& additions, size_t all, Console& console)
    {
        const AddedFile& last = additions.back();
        const CommandWording& wording = console.wording;
        if (all > 1) console.err << '[' << additions.size() << '/' << all << "] ";
        if (!last.info)
            console.err << wording.of(sentence_of(*last.error)) << '\n';
        else if (last.is_new)
            console.err << wording.of(Text("{0}: added, {1} tokens", row_text(last.info->title),
                                           format_count(last.info->tokens)))
                        << '\n';
        else
            console.err << wording.of(Text("{0}: is in the library already", row_text(last.info->title))) << '\n';
    }

    static void name_what_was_left_out(const storage::FoundDocuments& found, Console& console)
    {
        for (const std::string& folder : found.unreadable)
            write_note(console, false, Text("the folder {0} cannot be read", printable(folder)));
        if (found.other_files > 0)
            write_note(console, false,
                       found.other_files == 1
                           ? Text("1 file in the folders is no document that can be read")
                           : Text("{0} files in the folders are no documents that can be read", found.other_files));
    }

    static void print_json(const std::vector<AddedFile>& additions, const storage::FoundDocuments& found,
                           bool is_interrupted, Store& store, Console& console)
    {
        ordered_json documents = ordered_json::array(), failed = ordered_json::array();
        for (const AddedFile& addition : additions) {
            if (!addition.info) {
                failed.push_back({{"file", addition.file}, {"error", for_scripts(sentence_of(*addition.error))}});
                continue;
            }
            documents.push_back({{"file", addition.file}, {"added", addition.is_new}});
            documents.back().update(summary(store, *addition.info, store.library.sessions_of(addition.info->id)));
        }
        write_json(console.out, {{"schema", "palimpsest.library-addition/1"},
                                 {"documents", documents},
                                 {"failed", failed},
                                 {"interrupted", is_interrupted},
                                 {"other_files", found.other_files},
                                 {"unreadable_folders", found.unreadable},
                                 {"version", PALIMPSEST_VERSION}});
    }

    static void refuse_failures(const std::vector<AddedFile>& additions)
    {
        const auto has_failed = [](const AddedFile& file) { return file.error.has_value(); };
        const auto first = std::ranges::find_if(additions, has_failed);
        if (first != additions.end())
            throw Error(ErrorKind::Failed, first->error->code(), Text::verbatim("library add"),
                        Text("{0} of {1} files could not be added", std::ranges::count_if(additions, has_failed),
                             additions.size()),
                        Text("the lines above say why; what was added is not added again when you repeat it"));
        if (additions.empty())
            throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::verbatim("library add"),
                        Text("there is no document in the folders"), Text("give files, or folders that have some"));
    }

    // ---- list and show

    static ordered_json summary(Store& store, const DocumentInfo& d, const std::vector<std::string>& sessions)
    {
        return {{"document", d.id},
                {"title", d.title},
                {"author", d.author},
                {"language", d.language},
                {"format", d.format},
                {"tokens", d.tokens},
                {"words", d.words},
                {"bytes", d.bytes},
                {"sources", store.library.sources(d.id)},
                {"model", d.tokenizer},
                {"stored", utc(d.created_ms)},
                {"in_library", d.kept_ms > 0},
                {"sessions", sessions}};
    }

    void list(Console& console)
    {
        const auto store = open_store(database_, Access::Read);
        ordered_json all = ordered_json::array();
        auto sessions = store->library.sessions_of_all();
        for (const DocumentInfo& document : store->library.list())
            all.push_back(summary(*store, document, sessions[document.id]));
        if (common_.json) return write_json(console.out, {{"schema", "palimpsest.library/1"}, {"documents", all}});
        Table table;
        for (const ordered_json& d : all) {
            const std::string format = d["format"];
            table.add({d["document"].dump(), d["title"], d["author"],
                       format.empty() ? console.wording.of(Text("text")) : format,
                       console.wording.of(Text("{0} tokens", format_count(d["tokens"]))),
                       console.wording.of(place_of(d))});
        }
        table.write_rows(console);
    }

    static Text place_of(const ordered_json& d)
    {
        const size_t sessions = d["sessions"].size();
        if (!d["in_library"]) return sessions == 1 ? Text("of 1 session") : Text("of {0} sessions", sessions);
        if (sessions == 0) return Text("in the library");
        return sessions == 1 ? Text("in the library, 1 session") : Text("in the library, {0} sessions", sessions);
    }

    void show(Console& console)
    {
        const auto store = open_store(database_, Access::Read);
        const DocumentInfo info = library_document(store->library, document_);
        ordered_json result = {{"schema", "palimpsest.library-document/1"}};
        result.update(summary(*store, info, store->library.sessions_of(info.id)));
        const auto report = storage::DocumentReport::of(store->library, info, 0);
        result["sections"] = report.json()["sections"];
        result["pages"] = report.pages.size();
        const std::vector<Text> notes = storage::notes_of_reader(store->library, info);
        result["notes"] = ordered_json::array();
        for (const Text& note : notes)
            result["notes"].push_back(note.english());
        if (common_.json) return write_json(console.out, result);
        const auto line = [&](const Text& text) { console.out << console.wording.of(text) << '\n'; };
        const auto shown = [&](const std::string& text) { return row_text(text, console.out_is_terminal); };
        line(Text("{0}, number {1}, {2} tokens, {3} words, {4}", shown(info.title), info.id,
                  format_count(info.tokens), format_count(info.words), place_of(result)));
        if (!info.author.empty()) line(Text("author    {0}", shown(info.author)));
        if (!info.language.empty()) line(Text("language  {0}", shown(info.language)));
        if (!info.format.empty()) line(Text("format    {0}", shown(info.format)));
        if (!report.pages.empty()) line(Text("pages     {0}", format_count(report.pages.size())));
        for (const Text& note : notes)
            line(Text("note      {0}", note));
        for (const std::string& source : store->library.sources(info.id))
            line(Text("file      {0}", shown(source)));
        for (const std::string& session : store->library.sessions_of(info.id))
            line(Text("session   {0}", shown(session)));
        for (const storage::Section& section : report.sections)
            console.out << std::string(2 * static_cast<size_t>(std::clamp(section.level, 1, 6)), ' ')
                        << shown(section.title) << '\n';
    }

    // ---- search

    struct MessageHit {
        std::string session;
        int64_t created_ms;
        bool is_answer;
        std::string text;
    };
    struct FoundMessages {
        std::vector<MessageHit> first{}; // at most limit_
        uint64_t found = 0;
    };

    void search(Console& console)
    {
        ConsoleListener listener(console, false);
        const auto store = open_indexed_store(database_, searched, nullptr, listener);
        const storage::TextQuery query = storage::text_query(words_);
        if (query.is_empty())
            throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text::verbatim("WORDS"),
                        Text("there is no word in '{0}'", printable(words_)), Text("give words to look for"));
        const auto hits = storage::search_passage_texts(store->database, query, searched(*store), limit_,
                                                        [&] { return !console.stop.stop_requested(); });
        if (!hits) throw storage::Interrupted{Text("stopped before anything was printed")};
        const FoundMessages messages = found_messages(*store, query, console.stop);
        if (common_.json) return print_json(*store, *hits, messages, console);
        storage::PassagePlaces places(store->library, console.out_is_terminal);
        for (const storage::TextHit& hit : hits->best)
            console.out << console.wording.of(places.sentence(hit.passage)) << ":\n" << trimmed(hit.text) << "\n\n";
        for (const MessageHit& hit : messages.first)
            console.out << console.wording.of(Text("session {0}, {1}",
                                                   row_text(hit.session, console.out_is_terminal),
                                                   utc(hit.created_ms)))
                        << ":\n"
                        << trimmed(hit.text) << "\n\n";
        tell_what_is_missing(*hits, messages, console);
    }

    static void tell_what_is_missing(const storage::TextHits& hits, const FoundMessages& messages, Console& console)
    {
        const auto note = [&](const Text& text) { write_note(console, false, text); };
        if (hits.best.empty() && messages.first.empty()) note(Text("nothing was found"));
        if (!hits.best.empty() && !hits.has_all_terms)
            note(Text("no passage has all of the words, so these have some of them"));
        if (hits.passages > hits.best.size())
            note(Text("{0} of {1} passages are shown; --limit shows more", hits.best.size(), hits.passages));
        if (messages.found > messages.first.size())
            note(Text("{0} of {1} messages are shown; --limit shows more", messages.first.size(), messages.found));
        if (hits.unindexed > 0) note(Text("{0} documents could not be searched", hits.unindexed));
    }

    // All documents. A document that is stored several times, with the token ids of several models, is listed once.
    static std::vector<int64_t> searched(Store& store)
    {
        std::vector<int64_t> documents;
        std::set<std::tuple<int64_t, int64_t, std::string>> seen;
        for (const DocumentInfo& d : store.library.list())
            if (d.source_bytes < 0 || seen.emplace(d.source_bytes, d.source_hash, d.title).second)
                documents.push_back(d.id);
        return documents;
    }

    FoundMessages found_messages(Store& store, const storage::TextQuery& query, const std::stop_token& stop) const
    {
        FoundMessages all;
        for (const SessionInfo& session : store.conversations.list()) {
            if (stop.stop_requested()) throw storage::Interrupted{Text("stopped before anything was printed")};
            const std::vector<Message> messages = store.conversations.messages(session.id);
            std::vector<std::string> texts;
            texts.reserve(messages.size());
            for (const Message& message : messages)
                texts.push_back(message.damaged ? std::string() : message.text);
            const auto found = storage::found_in(query, texts);
            for (size_t i = 0; i < messages.size(); ++i) {
                if (found[i].empty()) continue;
                ++all.found;
                if (all.first.size() < limit_)
                    all.first.push_back({session.name, messages[i].created_ms,
                                         messages[i].role == storage::Role::Assistant, texts[i]});
            }
        }
        return all;
    }

    static std::string trimmed(const std::string& text)
    {
        std::string shown = visible(text);
        shown.erase(0, shown.find_first_not_of("\n "));
        shown.erase(shown.find_last_not_of("\n ") + 1);
        return shown;
    }

    void print_json(Store& store, const storage::TextHits& hits, const FoundMessages& found, Console& console) const
    {
        storage::PassagePlaces places(store.library);
        ordered_json passages = ordered_json::array(), messages = ordered_json::array();
        for (const storage::TextHit& hit : hits.best) {
            passages.push_back(places.json(hit.passage));
            passages.back()["text"] = hit.text;
        }
        for (const MessageHit& hit : found.first)
            messages.push_back({{"session", hit.session},
                                {"role", hit.is_answer ? "assistant" : "user"},
                                {"written", utc(hit.created_ms)},
                                {"text", hit.text}});
        write_json(console.out, {{"schema", "palimpsest.library-search/1"},
                                 {"words", words_},
                                 {"passages", passages},
                                 {"passages_found", hits.passages},
                                 {"has_all_words", hits.has_all_terms},
                                 {"documents_not_searched", hits.unindexed},
                                 {"messages", messages},
                                 {"messages_found", found.found},
                                 {"version", PALIMPSEST_VERSION}});
    }

    // ---- export and rm

    void export_text(Console& console)
    {
        const auto store = open_store(database_, Access::Read);
        const DocumentInfo info = library_document(store->library, document_);
        if (file_ != "-") storage::require_absent(file_);
        const auto write = [&](std::ostream& out) {
            uint64_t bytes = 0;
            for (int64_t i = 0;; ++i) {
                const std::string block = store->library.text_block(info.id, i);
                if (block.empty() && bytes != info.bytes) storage::refuse_damaged_document(info.id);
                if (block.empty()) return;
                bytes += block.size();
                if (console.stop.stop_requested()) throw storage::Interrupted{Text("stopped; nothing was written")};
                out << block;
            }
        };
        if (file_ == "-") {
            write(console.out);
            return finish_output(console.out);
        }
        OutputFile file(file_);
        write(file.stream());
        file.commit();
        if (common_.json)
            write_json(console.out, {{"schema", "palimpsest.library-export/1"},
                                     {"document", info.id},
                                     {"title", info.title},
                                     {"file", file_},
                                     {"bytes", info.bytes}});
    }

    void remove(Console& console)
    {
        open_store(database_, Access::Read); // creates no database
        const auto store = open_store(database_, Access::Write);
        std::vector<DocumentInfo> removed;
        std::vector<int64_t> ids;
        for (const std::string& name : names_) {
            removed.push_back(library_document(store->library, name));
            ids.push_back(removed.back().id);
            if (removed.back().kept_ms == 0)
                throw Error(ErrorKind::Failed, ErrorCode::DocumentNotFound, title_of(removed.back()),
                            Text("it is not in the library, but of a session"), Text(Step::RemoveSessions));
        }
        const auto backup_error = store->library.stop_keeping(ids);
        ordered_json documents = ordered_json::array();
        for (const DocumentInfo& document : removed) {
            const auto sessions = store->library.sessions_of(document.id);
            documents.push_back({{"document", document.id}, {"title", document.title}, {"sessions", sessions}});
            if (!common_.json) console.err << console.wording.of(removal_of(document, sessions)) << '\n';
        }
        if (backup_error)
            write_note(console, false, Text("what is left has no backup now: {0}", sentence_of(*backup_error)));
        if (common_.json)
            write_json(console.out, {{"schema", "palimpsest.library-removal/1"}, {"documents", documents}});
    }

    static Text removal_of(const DocumentInfo& document, const std::vector<std::string>& sessions)
    {
        const std::string title = row_text(document.title);
        if (sessions.empty()) return Text("{0}: deleted for good", title);
        return sessions.size() == 1 ? Text("{0} stays stored for session '{1}'", title, row_text(sessions[0]))
                                    : Text("{0} stays stored for {1} sessions", title, sessions.size());
    }

    static Text title_of(const DocumentInfo& document) { return Text("document '{0}'", printable(document.title)); }

    CommonOptions common_;
    std::vector<std::string> names_;
    std::string document_, words_, file_, database_;
    size_t limit_ = 20;
    Subcommands<LibraryCommand> subcommands_;
};

} // namespace

std::unique_ptr<Command> make_library(CLI::App& parent)
{
    return std::make_unique<LibraryCommand>(parent);
}

} // namespace palimpsest::app
