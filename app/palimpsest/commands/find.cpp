// `find`: prints the passages of stored documents that a question is about.

#include <CLI/CLI.hpp>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/indexed_store.h"
#include "app/palimpsest/output.h"
#include "storage/passages/passage_places.h"
#include "storage/passages/passage_search.h"
#include "storage/session/installed_encoder.h"
#include "storage/session/passage_ranking.h"
#include "storage/session/passage_reading.h"
#include "storage/session/store.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::DocumentInfo;
using storage::PassageHit;
using storage::PassageIndex;
using storage::PassagePlaces;
using storage::Store;
using storage::StoredPassage;

class Find final : public Command {
public:
    explicit Find(CLI::App& parent)
    {
        command_ = parent.add_subcommand("find", "find the passages of documents that a question is about");
        command_->add_option("QUESTION", question_, "a question, or some words")->required();
        command_->add_option("--before", before_, "what was asked before the question: its words count less");
        command_->add_option("--session", session_, "only in the documents of this session");
        command_
            ->add_option("--tokens", tokens_, "print the best passages that have at most so many tokens together")
            ->capture_default_str()
            ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
        common_.rank_seconds = 0;
        add_rank_option(*command_, common_);
        add_backend_options(*command_, common_);
        add_database_option(*command_, database_);
        command_->add_flag("--words", words_, "by words alone, also where a sentence encoder is installed");
        command_->add_flag("--json", json_, "print one JSON document");
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        ConsoleListener listener(console, false);
        storage::InstalledEncoder installed;
        storage::PassageEncoder* encoder = words_ ? nullptr : installed.get(nullptr, listener);
        store_ = open_indexed_store(
            database_, [&](Store& store) { return searched_documents(store); }, encoder, listener);
        const std::vector<int64_t> documents = searched_documents(*store_);
        const size_t limit = tokens_ / tokens_per_hit + 1;
        const storage::Question question{question_, before_};
        storage::QuestionMeaning meaning;
        if (encoder)
            installed.use(*encoder, listener, [&] { meaning = encoder->meaning_of(question, console.stop); });
        auto hits = storage::search_passages(store_->database, question, documents, limit, &meaning);
        if (!meaning.embedding.empty() && hits.size() > 1)
            hits = storage::ranked_by_reading(std::move(hits), question, meaning,
                                              *installed.get_for_finding(nullptr, listener), *store_, console.stop);
        require_going_on(console);
        if (common_.rank_seconds > 0) hits = ranked(std::move(hits), console);
        const auto chosen = storage::choose_passages(hits, tokens_);
        PassagePlaces places(store_->library, console.out_is_terminal);
        if (json_) return print_json(documents, chosen, places, console);
        for (const PassageHit& hit : chosen)
            print(hit.passage, places, console);
        if (chosen.empty()) write_note(console, false, Text("nothing was found for the question"));
    }

private:
    std::vector<PassageHit> ranked(std::vector<PassageHit> hits, Console& console)
    {
        if (hits.size() < 2) return hits;
        const auto model = load_chosen_model(common_, console, 1);
        auto result =
            storage::rank_passages(std::move(hits), question_, model, *store_, common_.rank_seconds, console.stop);
        require_going_on(console);
        return std::move(result.hits);
    }

    static void require_going_on(const Console& console)
    {
        if (console.stop.stop_requested()) throw storage::Interrupted{Text("stopped before anything was printed")};
    }

    static constexpr uint64_t tokens_per_hit = 16; // fewer than a passage has, so that enough hits are there

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

    void print(const StoredPassage& passage, PassagePlaces& places, Console& console)
    {
        std::string text = visible(PassageIndex(store_->database).text(passage));
        text.erase(0, text.find_first_not_of("\n "));
        text.erase(text.find_last_not_of("\n ") + 1);
        console.out << console.wording.of(places.sentence(passage)) << ":\n" << text << "\n\n";
    }

    void print_json(const std::vector<int64_t>& documents, const std::vector<PassageHit>& chosen,
                    PassagePlaces& places, Console& console)
    {
        ordered_json passages = ordered_json::array();
        uint64_t tokens = 0;
        for (const auto& [passage, score] : chosen) {
            tokens += passage.tokens();
            passages.push_back(places.json(passage));
            passages.back()["score"] = score;
            passages.back()["text"] = PassageIndex(store_->database).text(passage);
        }
        write_json(console.out, {{"schema", "palimpsest.passages/1"},
                                 {"question", question_},
                                 {"documents", documents},
                                 {"passages", passages},
                                 {"tokens", tokens},
                                 {"version", PALIMPSEST_VERSION}});
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::string question_, before_, session_, database_;
    uint64_t tokens_ = 1024;
    bool words_ = false, json_ = false;
    std::unique_ptr<Store> store_;
};

} // namespace

std::unique_ptr<Command> make_find(CLI::App& parent)
{
    return std::make_unique<Find>(parent);
}

} // namespace palimpsest::app
