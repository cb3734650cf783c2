// Shared by `ask` and `summarize`: they feed documents into the open user turn, then a question, and generate the
// answer; or answer from a copy of a stored session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "engine/model/model.h"
#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "storage/session/document.h"
#include "storage/session/exported_session.h"
#include "storage/session/framed_turn.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_stream.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"

namespace palimpsest::app {

class AnswerCommand : public Command {
public:
    bool chosen() const override;
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

protected:
    struct Answer {
        std::string question, text;
        engine::GenerateResult generated;
        nlohmann::ordered_json reach{}; // null, unless it has a reading of its own
        nlohmann::ordered_json support = nlohmann::ordered_json::object(); // further members of its JSON
    };

    // A session that has read the documents, and how much of them it has read.
    struct Reading {
        std::unique_ptr<engine::Session> session;
        storage::Coverage coverage;
        storage::SessionStream stream;
    };

    void define_common(); // REQUIRES: command_

    storage::Protocol protocol() const;
    Text protocol_option() const; // REQUIRES: not the blind protocol

    // Without --session. Throws as load_chosen_model.
    void load(Console& console);
    // Imports an exported session that is given as the only document, and makes it the session of --session. If
    // open_stored refuses it, it is removed again. Throws Error as open_given_cache, and Usage with --no-save.
    // REQUIRES: listener_.
    void take_export(const std::string& file, Console& console);
    // The session of --session, in what `store` opens; without it, one that nothing else names. `options`: what the
    // shared options do not say. REQUIRES: listener_.
    void open_stored(const std::function<std::unique_ptr<storage::Store>()>& store, storage::StoredOptions options,
                     Console& console);

    // Feeds the documents, one after another, into one user turn; for Protocol::QuestionLast, then the question.
    // Stores them in store_, if there is one. Throws Interrupted when stopped. REQUIRES: load(), listener_.
    Reading read(const storage::Documents& documents, const std::string& question, Console& console);

    const engine::ChatTemplate& chat_template() const { return *template_; }
    // Ids to feed for a question after `stream`, with the passages that are read again.
    std::vector<engine::TokenId> turn(const storage::SessionStream& stream, const std::string& question,
                                      std::span<const storage::QuotedPassage> passages) const;

    // Forks the session for an answer, with this run's sampling and without question rows: a stored session has the
    // sampling of its last chat, and nothing that follows is a document.
    std::unique_ptr<engine::Session> copy(engine::Session& session) const;

    // Feeds the question and generates the answer; prints the text while it is generated, unless --json is given.
    // Throws Interrupted when stopped.
    Answer answer(engine::Session& session, const std::string& question,
                  const std::vector<engine::TokenId>& turn_ids, int32_t default_length, Console& console) const;

    void receipt(const engine::Session& session, const storage::Coverage& coverage,
                 const std::vector<Answer>& answers, Console& console) const;
    nlohmann::ordered_json json(const engine::Session& session, const storage::Coverage& coverage,
                                const std::vector<std::string>& files, const std::vector<Answer>& answers) const;

    // In an extra pass. Absent if a document can be read only once. REQUIRES: load().
    std::optional<uint64_t> count_tokens(const storage::Documents& documents) const;
    // Absent if a document can be read only once.
    static std::optional<uint64_t> total_bytes(const storage::Documents& documents);
    static std::optional<uint64_t> text_bytes(const storage::Documents& documents);

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    bool steer_ = false, question_last_ = false;
    bool raw_ = false;   // prints control characters as they are
    std::string prompt_; // template of the question
    std::string session_, database_;
    std::shared_ptr<const engine::Model> model_;
    std::optional<ConsoleListener> listener_;        // set when the command runs; stored_ refers to it
    std::unique_ptr<storage::Store> store_;          // of the session or of what is read; null: not stored
    std::unique_ptr<storage::StoredSession> stored_; // set with --session

private:
    // Feeds the text of an exported session without a cache, and saves its state. If another process writes to the
    // database and does not end soon, feeds nothing, says so and lets the text be fed for this answer only. Gives
    // `options` the model that it has loaded.
    void keep_what_is_fed(storage::StoredOptions& options);
    void warn(Console& console) const;
    std::unique_ptr<engine::Session> start(const storage::Documents& documents, const std::string& question);
    std::vector<engine::TokenId> framing_before(storage::Document& document, bool is_first) const;
    storage::Coverage read(engine::Session& session, const storage::Documents& documents,
                           storage::SessionStream& stream, Console& console);
    storage::Protocol shown_protocol() const;

    bool recompute_ = false;
    std::optional<storage::OpenedExport> export_; // set by take_export
    uint64_t tokens_kept_ = 0;                    // by keep_what_is_fed
    std::string export_file_;
    const engine::Tokenizer* tokenizer_ = nullptr;
    const engine::ChatTemplate* template_ = nullptr;
    std::unique_ptr<engine::ChatTemplate> own_template_; // without --session
};

} // namespace palimpsest::app
