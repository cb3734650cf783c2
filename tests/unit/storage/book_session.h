// A stored session in a database of its own, with a book that it has read, on the tiny model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/session/stored_session.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/unit/storage/scratch_database.h"

namespace palimpsest::tests {

using namespace palimpsest::storage;

inline const std::string fixtures = source_file("tests/fixtures/models/");

inline std::shared_ptr<const engine::Model> load(const std::string& name)
{
    return engine::Model::load(fixtures + name, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
}

inline const std::shared_ptr<const engine::Model>& model()
{
    static const auto loaded = load("llama.f32.gguf");
    return loaded;
}

inline engine::SamplerOptions seeded(uint64_t seed)
{
    return {.temperature = 1, .seed = seed};
}

inline StoredOptions options()
{
    StoredOptions o{.choice = {}};
    o.choice.budget = "64";
    o.choice.chunk = 16;
    o.choice.sampler = seeded(1);
    o.model = model();
    o.talks = true;
    return o;
}

class RecordingListener final : public Listener {
public:
    void note(const Text& sentence) override { notes.push_back(sentence.english()); }
    void progress(const ReadingProgress& progress, const engine::Session& session) override
    {
        ++reports;
        CHECK(progress.telemetry.tokens_seen == session.retention().tokens_seen);
        if (at_progress) at_progress();
    }
    void found(const Rereading& passages, Store& /*store*/) override
    {
        rereadings.push_back(passages);
        if (at_found) at_found();
    }
    void noted(const Note& note, Store& /*store*/) override
    {
        written.push_back(note);
        if (at_note) at_note();
    }
    std::stop_token stop() const override { return stop_source.get_token(); }
    std::stop_source stop_source;
    std::vector<std::string> notes;
    std::vector<Rereading> rereadings;
    int reports = 0; // calls of progress()
    std::vector<Note> written;
    std::function<void()> at_progress, at_note, at_found;
};

inline std::string sixty_years()
{
    std::string text;
    for (int i = 0; i < 60; ++i)
        text += "In the year " + std::to_string(1800 + i) + " the light was kept by the warden of the sea.\n";
    return text;
}

// A folder with a database and a document, and one open session at a time.
class BookSession {
public:
    explicit BookSession(const std::string& text = sixty_years())
        : text_(scratch_.file().parent_path() / "book.txt")
    {
        scratch_.clear();
        std::ofstream(text_) << text;
    }

    StoredSession& open(const std::string& name = "book", const StoredOptions& given = options())
    {
        close();
        store_ = open_store(scratch_.file().string(), Database::Access::Write);
        session_ = std::make_unique<StoredSession>(*store_, name, given, listener);
        session_->choose_sampling();
        return *session_;
    }
    void close()
    {
        session_.reset();
        store_.reset();
    }
    StoredSession& with_book(const StoredOptions& given = options())
    {
        StoredSession& session = open("book", given);
        Document document = book();
        session.read(document);
        listener.reports = 0;
        return session;
    }
    Document book() const { return Document(text_.string(), std::cin); }
    void lose_book() const { std::filesystem::remove(text_); }
    std::filesystem::path folder() const { return text_.parent_path(); }
    Store& store() { return *store_; }
    std::vector<Message> messages() { return store_->conversations.messages(session_->id()); }

    RecordingListener listener;

private:
    ScratchDatabase scratch_;
    std::filesystem::path text_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<StoredSession> session_;
};

inline engine::GenerateOptions tokens(int32_t count, std::stop_token stop = {})
{
    return {.max_tokens = count, .stop = std::move(stop), .token = {}, .is_end = {}};
}

inline constexpr int32_t answer_tokens = 12;

inline std::vector<engine::TokenId> say(StoredSession& session, const std::string& message)
{
    return session.say(message, tokens(answer_tokens)).tokens;
}

// Compares what the sessions keep, and what they would generate next.
inline void check_same(StoredSession& a, StoredSession& b)
{
    CHECK(a.session().tokens_seen() == b.session().tokens_seen());
    CHECK(a.session().retention().tokens == b.session().retention().tokens);
    CHECK(a.session().pins() == b.session().pins());
    CHECK(a.session().logits() == b.session().logits());
}

} // namespace palimpsest::tests
