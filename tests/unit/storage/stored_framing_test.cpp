// How a stored session frames its turns after the model's files or the program have changed.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "storage/session/session_settings.h"
#include "storage/session/stored_session.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;

namespace {

namespace fs = std::filesystem;

const std::string instructions = "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
                                 "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}";

// A model folder whose template can be replaced, and one session in a database next to it.
class FramedSession {
public:
    FramedSession() : folder_(scratch_.file().parent_path() / "model")
    {
        scratch_.clear();
        fs::copy(tests::source_file("tests/fixtures/models/mistral"), folder_);
    }

    // Opens the session with a model that has this template; empty: none. A session that was begun with another
    // template stands for one of an older program, which framed turns differently: the model counts as the same.
    StoredSession& open(const std::string& chat_template)
    {
        nlohmann::json config{{"add_bos_token", false}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
        if (!chat_template.empty()) config["chat_template"] = chat_template;
        std::ofstream(folder_ / "tokenizer_config.json") << config;
        close();
        store_ = open_store(scratch_.file().string(), Database::Access::Write);
        StoredOptions options{.choice = {}};
        options.choice.budget = "64";
        options.choice.chunk = 16;
        options.model =
            engine::Model::load(folder_, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
        options.talks = true;
        options.recompute =
            true; // computes the stream again, because its checkpoints belong to the model with the old template
        store_->database.sql().exec("UPDATE sessions SET model = '" + options.model->fingerprint() + "'");
        session_ = std::make_unique<StoredSession>(*store_, "chat", options, silent_);
        return *session_;
    }
    void close()
    {
        session_.reset();
        store_.reset();
    }
    // Sets the day on which the stored session was begun, counted from 1970.
    void set_day(int64_t day)
    {
        close();
        store_ = open_store(scratch_.file().string(), Database::Access::Write);
        const SessionInfo info = store_->conversations.get("chat");
        auto options = nlohmann::json::parse(info.options);
        options["day"] = day;
        store_->conversations.set_options(info.id, options.dump());
    }

private:
    ScratchDatabase scratch_;
    fs::path folder_;
    Listener silent_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<StoredSession> session_;
};

void talk(StoredSession& session)
{
    session.say("Who keeps the lamp?", {.max_tokens = 4, .stop = {}, .token = {}, .is_end = {}});
}

} // namespace

TEST_CASE("a session with plain framing keeps it after its model gets a template")
{
    FramedSession tested;
    talk(tested.open(""));
    StoredSession& session = tested.open(instructions);
    CHECK(session.chat_template().plain());
    CHECK(session.chat_template().close_user_open_assistant() == session.tokenizer().encode("\nAnswer:", false));
}

TEST_CASE("a session continues with the model's template, with or without BOS at its start")
{
    const std::string with_bos = "{{ bos_token }}" + instructions;
    const auto [begun, now] = GENERATE_COPY(table<std::string, std::string>(
        {{instructions, with_bos}, {with_bos, instructions}, {with_bos, with_bos}}));
    FramedSession tested;
    talk(tested.open(begun));
    StoredSession& session = tested.open(now);
    CHECK_FALSE(session.chat_template().plain());
    const auto turn = session.turn("Why?").ids;
    const auto close = session.tokenizer().encode(" [/INST]", false);
    REQUIRE(turn.size() > close.size());
    CHECK(std::equal(close.rbegin(), close.rend(), turn.rbegin()));
}

TEST_CASE("a session keeps the date on which it was begun")
{
    const std::string dated = "{{ strftime_now('%d %B %Y') }}" + instructions;
    FramedSession tested;
    CHECK_FALSE(tested.open(dated).chat_template().plain());
    tested.set_day(10000);
    StoredSession& session = tested.open(dated);
    const auto turn = session.turn("Why?").ids;
    const auto expected = session.tokenizer().encode("19 May 1997[INST]", true);
    REQUIRE(turn.size() > expected.size());
    CHECK(std::equal(expected.begin(), expected.end(), turn.begin()));
}

TEST_CASE("a stored day outside the calendar is refused")
{
    FramedSession tested;
    tested.open(instructions);
    for (const int64_t day : {int64_t{-1}, int64_t{2932897}, int64_t{1} << 40, INT64_MAX}) {
        tested.set_day(day);
        CHECK(refusal([&] { tested.open(instructions); }) == "PAL-DB-03");
    }
    tested.set_day(2932896);
    CHECK(refusal([&] { tested.open(instructions); }).empty());
}
