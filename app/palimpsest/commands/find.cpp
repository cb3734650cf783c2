// `find`: prints the passages of stored documents that share words with a question.

#include <CLI/CLI.hpp>
#include <map>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/passages/passage_search.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::DocumentInfo;
using storage::Interrupted;
using storage::open_store;
using storage::PassageHit;
using storage::PassageIndex;
using storage::Section;
using storage::Store;
using storage::StoredPassage;
using Access = storage::Database::Access;

class Find final : public Command {
public:
    explicit Find(CLI::App& parent)
    {
        command_ =
            parent.add_subcommand("find", "find the passages of documents that a question is about, by its words");
        command_->add_option("QUESTION", question_, "a question, or some words")->required();
        command_->add_option("--session", session_, "only in the documents of this session");
        command_
            ->add_option("--tokens", tokens_, "print the best passages that have at most so many tokens together")
            ->capture_default_str()
            ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
        add_database_option(*command_, database_);
        command_->add_flag("--json", json_, "print one JSON document");
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        open(console);
        const std::vector<int64_t> documents = searched_documents(*store_);
        const size_t limit = tokens_ / tokens_per_hit + 1;
        const auto hits = storage::search_passages(store_->database, question_, documents, limit);
        const auto chosen = storage::choose_passages(hits, tokens_);
        if (json_) return print_json(documents, chosen, console);
        for (const PassageHit& hit : chosen)
            print(hit.passage, console);
        if (chosen.empty()) write_note(console, false, Text("no passage shares a word with the question"));
    }

private:
    static constexpr uint64_t tokens_per_hit = 16; // fewer than a passage has, so that enough hits are there

    // Documents that lack their passages are indexed first, for which the database is opened to write. What cannot
    // be indexed is left out, and named.
    void open(Console& console)
    {
        store_ = open_store(database_, Access::Read, console.stop);
        if (unindexed(*store_).empty()) return;
        store_.reset();
        try {
            store_ = open_store(database_, Access::Write, console.stop);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::Busy && error.code() != ErrorCode::NewerDatabase) throw;
            store_ = open_store(database_, Access::Read, console.stop);
            for (const int64_t document : unindexed(*store_))
                leave_out(document, error, console);
            return;
        }
        for (const int64_t document : unindexed(*store_))
            index(document, console);
    }

    void index(int64_t document, Console& console)
    {
        const std::string title = visible(store_->library.get(document).title);
        write_note(console, false, Text("indexing the words of {0}, once", title));
        try {
            const auto go_on = [&](uint64_t) { return !console.stop.stop_requested(); };
            if (!PassageIndex(store_->database).build(document, go_on))
                throw Interrupted{Text("stopped while indexing; run it again to start over")};
        } catch (const Error& error) {
            if (error.code() != ErrorCode::DamagedDocument) throw;
            leave_out(document, error, console);
        }
    }

    void leave_out(int64_t document, const Error& why, Console& console)
    {
        write_note(console, false,
                   Text("{0} is not searched: {1}", visible(store_->library.get(document).title), why.text()));
    }

    std::vector<int64_t> searched_documents(Store& store) const
    {
        std::vector<int64_t> documents;
        if (session_.empty()) {
            for (const DocumentInfo& document : store.library.list())
                documents.push_back(document.id);
            return documents;
        }
        for (const storage::StreamPart& part : store.conversations.stream(store.conversations.get(session_).id))
            if (const storage::StreamDocument* document = storage::document_in(part))
                documents.push_back(document->id);
        return documents;
    }

    std::vector<int64_t> unindexed(Store& store) const
    {
        std::vector<int64_t> missing = PassageIndex(store.database).missing();
        const std::vector<int64_t> searched = searched_documents(store);
        std::erase_if(missing, [&](int64_t document) {
            return std::find(searched.begin(), searched.end(), document) == searched.end();
        });
        return missing;
    }

    // Null without a section.
    const Section* section_of(const StoredPassage& passage)
    {
        auto known = sections_.find(passage.document);
        if (known == sections_.end())
            known = sections_.emplace(passage.document, store_->library.sections(passage.document)).first;
        const auto& sections = known->second;
        const bool is_there = passage.section >= 0 && passage.section < std::ssize(sections);
        return is_there ? &sections[static_cast<size_t>(passage.section)] : nullptr;
    }

    void print(const StoredPassage& passage, Console& console)
    {
        const Section* section = section_of(passage);
        const std::string title = visible(store_->library.get(passage.document).title),
                          first = format_count(passage.first_token), last = format_count(passage.end_token - 1);
        const Text place = section
                               ? Text("{0}, {1}, tokens {2} to {3}", title, visible(section->title), first, last)
                               : Text("{0}, tokens {1} to {2}", title, first, last);
        std::string text = visible(PassageIndex(store_->database).text(passage));
        text.erase(0, text.find_first_not_of("\n "));
        text.erase(text.find_last_not_of("\n ") + 1);
        console.out << console.wording.of(place) << ":\n" << text << "\n\n";
    }

    void print_json(const std::vector<int64_t>& documents, const std::vector<PassageHit>& chosen, Console& console)
    {
        ordered_json passages = ordered_json::array();
        uint64_t tokens = 0;
        for (const auto& [passage, score] : chosen) {
            const Section* section = section_of(passage);
            tokens += passage.tokens();
            passages.push_back({{"document", passage.document},
                                {"title", store_->library.get(passage.document).title},
                                {"section", section ? ordered_json(section->title) : ordered_json()},
                                {"tokens", {passage.first_token, passage.end_token}},
                                {"bytes", {passage.first_byte, passage.end_byte}},
                                {"score", score},
                                {"text", PassageIndex(store_->database).text(passage)}});
        }
        write_json(console.out, {{"schema", "palimpsest.passages/1"},
                                 {"question", question_},
                                 {"documents", documents},
                                 {"passages", passages},
                                 {"tokens", tokens},
                                 {"version", PALIMPSEST_VERSION}});
    }

    CLI::App* command_ = nullptr;
    std::string question_, session_, database_;
    uint64_t tokens_ = 1024;
    bool json_ = false;
    std::unique_ptr<Store> store_;
    std::map<int64_t, std::vector<Section>> sections_;
};

} // namespace

std::unique_ptr<Command> make_find(CLI::App& parent)
{
    return std::make_unique<Find>(parent);
}

} // namespace palimpsest::app
