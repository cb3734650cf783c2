// Operations of the window on a stored session: another answer, a branch, pins by position, the fade record. The
// result equals a session that got there directly: the same kept tokens, logits and answer.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "storage/document_import.h"
#include "storage/session/session_settings.h"
#include "storage/session/stored_session.h"
#include "tests/support/catch.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/project_folders.h"
#include "tests/support/test_level.h"
#include "tests/unit/storage/book_session.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::Fault;
using palimpsest::tests::FaultVfs;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;
using tests::answer_tokens;
using tests::BookSession;
using tests::check_same;
using tests::fixtures;
using tests::load;
using tests::model;
using tests::options;
using tests::RecordingListener;
using tests::say;
using tests::seeded;
using tests::tokens;

namespace {

std::vector<std::optional<int64_t>> messages_of(const std::vector<StreamPart>& parts)
{
    std::vector<std::optional<int64_t>> all;
    for (const StreamPart& part : parts)
        if (const StreamMessage* message = message_in(part); message && message->id) all.push_back(message->id);
    return all;
}

} // namespace

TEST_CASE("a stopped reading continues without its file")
{
    for (const bool anew : {false, true}) {
        INFO(anew);
        BookSession tested, uninterrupted;
        StoredSession* session = &tested.open();
        tested.listener.at_progress = [&] { tested.listener.stop_source.request_stop(); };
        Document document = tested.book();
        CHECK_THROWS_AS(session->read(document), Interrupted);
        CHECK(session->is_half_read());
        tested.lose_book();
        CHECK_THROWS_AS(session->read_on(), Interrupted); // at once: the stop is still requested
        CHECK(session->is_half_read());
        tested.listener.at_progress = {};
        tested.listener.stop_source = {};
        if (anew) session = &tested.open();
        session->read_on();
        CHECK_FALSE(session->is_half_read());
        CHECK(session->coverage().complete());
        StoredSession& other = uninterrupted.with_book();
        check_same(*session, other);
        session->read_on();
        check_same(*session, other);
    }
}

TEST_CASE("a regenerated answer replaces the previous one, which stays stored")
{
    BookSession tested, uninterrupted;
    StoredSession& session = tested.with_book();
    say(session, "Who kept it?");
    const auto first = say(session, "And then?");
    const auto second = session.regenerate(seeded(2), tokens(answer_tokens)).tokens;
    CHECK(first != second);
    CHECK(tested.listener.reports == 0); // the checkpoint from before the question was used

    StoredSession& other = uninterrupted.with_book();
    say(other, "Who kept it?");
    other.session().set_sampler(seeded(2));
    CHECK(say(other, "And then?") == second);
    check_same(session, other);

    const auto messages = tested.messages();
    REQUIRE(messages.size() == 5);
    CHECK(messages[3].ids == first);
    CHECK(messages[4].ids == second);
    CHECK(messages[3].parent == messages[4].parent);
    CHECK(messages[4].parent == messages[2].id);
    const std::vector<std::optional<int64_t>> stream = {messages[0].id, messages[1].id, messages[2].id,
                                                        messages[4].id};
    CHECK(messages_of(session.parts()) == stream);
    CHECK(messages_of(tested.store().conversations.stream(session.id())) == stream);

    // Again, in a reopened session.
    StoredSession& reopened = tested.open();
    check_same(reopened, other);
    const auto third = reopened.regenerate(seeded(3), tokens(answer_tokens)).tokens;
    CHECK(third != second);
    CHECK(tested.messages().size() == 6);
    CHECK(say(reopened, "And after that?").size() == answer_tokens);
    CHECK(tested.messages()[6].parent == tested.messages()[5].id);

    reopened.undo();
    reopened.undo(); // removes the question with all its answers
    CHECK(tested.messages().size() == 2);
}

TEST_CASE("without a checkpoint from before the question, regenerating reads the text again")
{
    BookSession tested, uninterrupted;
    StoredSession& session = tested.with_book();
    say(session, "Who kept it?");
    tested.store().snapshots.remove_all(session.id());
    const auto again = session.regenerate(seeded(2), tokens(answer_tokens)).tokens;
    CHECK(tested.listener.reports > 0);

    StoredSession& other = uninterrupted.with_book();
    other.session().set_sampler(seeded(2));
    CHECK(say(other, "Who kept it?") == again);
    check_same(session, other);
    check_same(tested.open(), other);
}

TEST_CASE("a regeneration that fails leaves the previous answer")
{
    BookSession tested, uninterrupted;
    StoredSession& session = tested.with_book();
    StoredSession& other = uninterrupted.with_book();
    for (StoredSession* each : {&session, &other})
        say(*each, "Who kept it?");
    const auto unchanged = [&] {
        check_same(session, other);
        CHECK(tested.messages().size() == 2);
        CHECK(messages_of(session.parts()) == messages_of(other.parts()));
    };

    std::stop_source stopped;
    stopped.request_stop();
    CHECK(session.regenerate(seeded(2), tokens(answer_tokens, stopped.get_token())).end ==
          engine::GenerateEnd::Cancelled);
    unchanged();

    CHECK(refusal([&] { session.regenerate({.temperature = -1}, tokens(answer_tokens)); }) == "PAL-USE-01");
    unchanged();

    auto failing = tokens(answer_tokens);
    failing.token = [](engine::TokenId) -> bool { throw std::runtime_error("no more"); };
    CHECK_THROWS_AS(session.regenerate(seeded(2), failing), std::runtime_error);
    unchanged();

    // Stops in the middle of the text that is read again.
    const auto states = tested.store().snapshots.of(session.id());
    tested.store().snapshots.remove(states.back().id);
    std::stop_source stop;
    tested.listener.at_progress = [&] { stop.request_stop(); };
    CHECK(session.regenerate(seeded(2), tokens(answer_tokens, stop.get_token())).end ==
          engine::GenerateEnd::Cancelled);
    tested.listener.at_progress = {};
    CHECK(tested.listener.reports > 0);
    unchanged();
    CHECK(say(session, "And then?") == say(other, "And then?"));
}

TEST_CASE("an answer that is cut while it is regenerated is kept as far as it was stored")
{
    BookSession tested, uninterrupted;
    StoredSession& session = tested.with_book();
    StoredSession& other = uninterrupted.with_book();
    const auto first = say(session, "Who kept it?");
    auto cut = tokens(400);
    int32_t told = 0;
    cut.token = [&](engine::TokenId) -> bool {
        return ++told < 300 ? true : throw std::runtime_error("the process ends here");
    };
    CHECK_THROWS_AS(session.regenerate(seeded(2), cut), std::runtime_error);
    StoredSession& reopened = tested.open();
    const auto messages = tested.messages();
    REQUIRE(messages.size() == 3);
    CHECK(messages[1].ids == first);
    CHECK(messages[2].state == MessageState::Stopped);
    const auto length = static_cast<int32_t>(messages[2].ids.size());
    CHECK(length >= 256);
    other.session().set_sampler(seeded(2));
    CHECK(other.say("Who kept it?", tokens(length)).tokens == messages[2].ids);
    check_same(reopened, other);
    CHECK(messages_of(reopened.parts()) == std::vector<std::optional<int64_t>>{messages[0].id, messages[2].id});
}

TEST_CASE("losing the device while an answer is regenerated loses no data")
{
    BookSession uninterrupted;
    StoredSession& other = uninterrupted.with_book();
    say(other, "Who kept it?");
    other.regenerate(seeded(2), tokens(answer_tokens));

    REQUIRE(setenv("PALIMPSEST_PLUGINS", tests::build_file("tests/support/plugins/failing").c_str(), 1) == 0);
    auto on_device = options();
    on_device.model.reset();
    on_device.choice.model = fixtures + "llama.f32.gguf";
    on_device.choice.device = "cuda";
    int lost = 0;
    const auto ends_after = [&](int operations) {
        INFO(operations);
        REQUIRE(setenv("PALIMPSEST_TEST_FAIL_AFTER", std::to_string(operations).c_str(), 1) == 0);
        BookSession tested;
        StoredSession& session = tested.with_book(on_device);
        say(session, "Who kept it?");
        const bool was_lost = !session.lost_device().empty();
        if (was_lost) return false;
        session.regenerate(seeded(2), tokens(answer_tokens));
        if (session.lost_device().empty()) return true;
        ++lost;
        // The plugin has its own copy of the kernels, whose SIMD target no other test can have pinned: its logits
        // may differ in bits from the program's.
        CHECK(session.session().tokens_seen() == other.session().tokens_seen());
        CHECK(session.session().retention().tokens == other.session().retention().tokens);
        CHECK(session.session().options().sampler == seeded(2));
        CHECK(tested.messages().size() == 3);
        CHECK(messages_of(session.parts()).size() == 2);
        CHECK(messages_of(session.parts()) == messages_of(tested.store().conversations.stream(session.id())));
        return false;
    };
    int operations = 1000;
    while (!ends_after(operations))
        operations += operations / 16;
    CHECK(lost > 0);
    unsetenv("PALIMPSEST_PLUGINS");
    unsetenv("PALIMPSEST_TEST_FAIL_AFTER");
}

TEST_CASE("a stored document is read to its end although the device is lost meanwhile")
{
    BookSession uninterrupted;
    uninterrupted.with_book();
    StoredSession& other = uninterrupted.open("copy");
    other.read_stored({1});

    REQUIRE(setenv("PALIMPSEST_PLUGINS", tests::build_file("tests/support/plugins/failing").c_str(), 1) == 0);
    auto on_device = options();
    on_device.model.reset();
    on_device.choice.model = fixtures + "llama.f32.gguf";
    on_device.choice.device = "cuda";
    int lost = 0;
    const auto ends_after = [&](int operations) {
        INFO(operations);
        REQUIRE(setenv("PALIMPSEST_TEST_FAIL_AFTER", "1000000", 1) == 0);
        BookSession tested;
        tested.with_book(on_device);
        REQUIRE(setenv("PALIMPSEST_TEST_FAIL_AFTER", std::to_string(operations).c_str(), 1) == 0);
        StoredSession& session = tested.open("copy", on_device);
        if (!session.lost_device().empty()) return false;
        session.read_stored({1});
        CHECK(session.coverage().complete());
        CHECK(session.parts().size() == 2);
        CHECK(session.session().tokens_seen() == other.session().tokens_seen());
        CHECK(session.session().retention().tokens == other.session().retention().tokens);
        if (session.lost_device().empty()) return true;
        ++lost;
        return false;
    };
    int operations = 100;
    while (!ends_after(operations))
        operations += operations / (tests::at_ci_level() ? 2 : 8);
    CHECK(lost > 0);
    unsetenv("PALIMPSEST_PLUGINS");
    unsetenv("PALIMPSEST_TEST_FAIL_AFTER");
}

TEST_CASE("an answer that an error ends counts with the tokens generated so far")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    const uint64_t before = session.session().tokens_seen();
    auto failing = tokens(answer_tokens);
    int told = 0;
    failing.token = [&](engine::TokenId) -> bool {
        return ++told < 5 ? true : throw std::runtime_error("no more");
    };
    CHECK_THROWS_AS(session.say("Who kept it?", failing), std::runtime_error);
    CHECK(session.session().tokens_seen() > before);
    CHECK(tokens_of(session.parts().back()) == 5);
    CHECK(say(session, "And then?").size() == answer_tokens);
    const auto messages = tested.messages();
    REQUIRE(messages.size() == 4);
    CHECK(messages[1].state == MessageState::Stopped);
    CHECK(messages[1].ids.size() == 5);
    const auto logits = session.session().logits();
    const auto kept = session.session().retention().tokens;
    StoredSession& reopened = tested.open();
    CHECK(reopened.session().logits() == logits);
    CHECK(reopened.session().retention().tokens == kept);
}

TEST_CASE("messages that are not stored yet are found by their place in the stream")
{
    FaultVfs disk;
    BookSession tested;
    StoredSession& session = tested.with_book();
    say(session, "Who kept it?");
    const size_t parts = session.parts().size();
    for (size_t i = 0; i < parts; ++i)
        CHECK(session.waiting_message(i) == nullptr);
    disk.arm(Fault::Full, 1, true);
    const auto answer = say(session, "And then?");
    REQUIRE(session.parts().size() == parts + 2);
    CHECK(session.why_waiting().has_value());
    REQUIRE(session.waiting_message(parts) != nullptr);
    CHECK(session.waiting_message(parts)->text == "And then?");
    REQUIRE(session.waiting_message(parts + 1) != nullptr);
    CHECK(session.waiting_message(parts + 1)->ids == answer);
    CHECK(session.waiting_message(parts - 1) == nullptr);
    disk.heal();
    CHECK(session.store_turns());
    CHECK_FALSE(session.why_waiting().has_value());
    CHECK(session.waiting_message(parts) == nullptr);
    CHECK(tested.messages().size() == 4);
    tested.close(); // before its disk is destroyed
}

TEST_CASE("whichever write finds the disk full, a policy change is made completely or not at all")
{
    FaultVfs disk;
    SessionChoice choice = options().choice;
    choice.policy = "streaming";
    uint64_t nth = 0, failed = 0;
    for (bool changed = false; !changed;) {
        INFO(++nth);
        BookSession tested;
        StoredSession& session = tested.with_book();
        say(session, "Who kept it?");
        disk.arm(Fault::Full, nth, false);
        const std::string code = refusal([&] { session.change_policy(choice); });
        changed = disk.failures() == 0;
        disk.heal();
        failed += !code.empty();
        const std::string live = session.session().options().policy.name;
        CHECK(live == (code.empty() ? "streaming" : "treekv"));
        const SessionInfo info = tested.store().conversations.get("book");
        CHECK(SessionSettings(info).policy.starts_with(live));
        CHECK(tested.open().session().options().policy.name == live);
        tested.close();
    }
    CHECK(failed > 0);
}

TEST_CASE("a text in memory is read as a document that has no file")
{
    BookSession tested;
    auto stays = options();
    stays.stays_empty = true;
    StoredSession& session = tested.open("pasted", stays);
    std::istringstream nothing, text("# No heading\n\nThe warden kept the light.\n");
    Document empty = Document::of_text("empty", nothing);
    CHECK(refusal([&] { session.read(empty); }) == "PAL-DOC-03");
    CHECK(tested.store().conversations.find("pasted").has_value());
    Document document = Document::of_text("notes.md", text);
    session.read(document);
    CHECK(session.sources() == std::vector<std::string>{"-"});
    const DocumentInfo info = tested.store().library.get(document_in(session.parts()[1])->id);
    CHECK(info.title == "notes.md");
    CHECK(tested.store().library.sections(info.id).empty());
}

TEST_CASE("stored documents are framed like documents that are read from files")
{
    BookSession tested;
    std::istringstream first("The warden kept the light.\n"), second("The harbour was dark.\n");
    Document one = Document::of_text("one", first), two = Document::of_text("two", second);
    std::vector<StreamPart> from_files;
    std::vector<int64_t> documents;
    {
        StoredSession& session = tested.open("files");
        session.read(one, true);
        session.read(two);
        from_files = session.parts();
        for (const StreamPart& part : from_files)
            if (document_in(part)) documents.push_back(document_in(part)->id);
        tested.close();
    }
    StoredSession& session = tested.open("stored");
    session.read_stored(documents);
    REQUIRE(session.parts().size() == from_files.size());
    for (size_t i = 0; i < from_files.size(); ++i) {
        INFO(i);
        REQUIRE(session.parts()[i].index() == from_files[i].index());
        if (const StreamFraming* framing = framing_in(from_files[i]))
            CHECK(framing_in(session.parts()[i])->ids == framing->ids);
        CHECK(tokens_of(session.parts()[i]) == tokens_of(from_files[i]));
    }
}

TEST_CASE("a document that is read after a stopped question follows the whole question")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    std::stop_source stopped;
    stopped.request_stop();
    CHECK(session.say("Who kept it?", tokens(answer_tokens, stopped.get_token())).tokens.empty());
    REQUIRE(session.session().tokens_seen() + static_cast<uint64_t>(session.session().pending()) <
            tokens_of(session.parts()));
    std::istringstream text("The harbour was dark.\n");
    Document document = Document::of_text("more", text);
    session.read(document);
    CHECK(session.session().tokens_seen() == tokens_of(session.parts()));
    CHECK(say(session, "And then?").size() == answer_tokens);
}

TEST_CASE("no document is read before a question that waits to be stored")
{
    FaultVfs disk;
    BookSession tested;
    StoredSession& session = tested.with_book();
    std::stop_source stopped;
    stopped.request_stop();
    disk.arm(Fault::Full, 1, true);
    session.say("Who kept it?", tokens(answer_tokens, stopped.get_token()));
    REQUIRE(session.turns_waiting() == 1);
    std::istringstream text("The harbour was dark.\n"), again("The harbour was dark.\n");
    Document refused = Document::of_text("more", text), document = Document::of_text("more", again);
    CHECK(refusal([&] { session.read(refused); }) == "PAL-DISK-01");
    CHECK(session.turns_waiting() == 1);
    disk.heal();
    session.read(document);
    CHECK(session.turns_waiting() == 0);
    CHECK(session.session().tokens_seen() == tokens_of(session.parts()));
}

TEST_CASE("regenerating is refused if the last part of the stream is no answer")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    CHECK(refusal([&] { session.regenerate(seeded(2), tokens(1)); }) == "PAL-SESSION-04");
    say(session, "Who kept it?");
    auto again = options();
    again.again = true;
    StoredSession& reopened = tested.open("book", again);
    Document book = tested.book();
    reopened.read(book);
    CHECK(refusal([&] { reopened.regenerate(seeded(2), tokens(1)); }) == "PAL-SESSION-05");
}

TEST_CASE("a branch has the stream up to the message, and a checkpoint if one fits")
{
    for (const bool last : {false, true}) {
        INFO(last);
        BookSession tested, uninterrupted;
        StoredSession& session = tested.with_book();
        StoredSession& other = uninterrupted.with_book();
        for (const char* message : {"Who kept it?", "And then?", "And after that?"})
            say(session, message);
        session.regenerate(seeded(5), tokens(answer_tokens));
        say(other, "Who kept it?");
        if (last) say(other, "And then?");
        const auto said = tested.messages();
        const int64_t message = said[last ? 4 : 2].id;

        CHECK(refusal([&] { session.branch("book", message); }) == "PAL-SESSION-02");
        CHECK(refusal([&] { session.branch("branch", said[1].id); }) == "PAL-SESSION-04");
        CHECK(refusal([&] { session.branch("branch", 1000); }) == "PAL-SESSION-04");
        const uint64_t tokens_before = session.session().tokens_seen();
        CHECK(session.branch("branch", message) == "branch");
        CHECK(session.session().tokens_seen() == tokens_before);
        CHECK(tested.messages().size() == said.size());

        auto told = options();
        told.tells_catching_up = true;
        StoredSession& branch = tested.open("branch", told);
        CHECK((tested.listener.reports == 0) ==
              last); // the two newest checkpoints are kept; one is from before the last message
        CHECK(tested.messages().size() == (last ? 4 : 2));
        check_same(branch, other);
        CHECK(say(branch, "Why?") == say(other, "Why?"));
    }
}

TEST_CASE("pins by token range are stored, cut and removed")
{
    BookSession tested, uninterrupted;
    StoredSession& session = tested.with_book();
    say(session, "Who kept it?");
    CHECK(session.pins().empty());
    const auto early = static_cast<uint32_t>(session.session().tokens_seen() - 8);
    session.pin({early, early + 6}, "the end");
    REQUIRE(session.pins().size() == 1);
    CHECK(session.pins()[0].label == "the end");
    session.pin({early + 4, early + 8}, "more"); // pins only the part of the range that is not pinned yet
    REQUIRE(session.pins().size() == 2);
    CHECK(session.pins()[1].first == early + 6);
    CHECK(refusal([&] { session.pin({0, 64}, "all of the budget"); }) == "PAL-PIN-01");
    CHECK(session.pins().size() == 2);

    say(session, "And then?");
    CHECK(session.held({early, early + 8}) == 1);
    CHECK(tested.open().pins().size() == 2);

    StoredSession& reopened = tested.open();
    reopened.unpin({early + 2, early + 3});
    const engine::Pins left({{early, early + 2}, {early + 3, early + 8}});
    CHECK(reopened.session().pins() == left);
    reopened.unpin({0, 8}); // no token of this range is pinned
    CHECK(reopened.session().pins() == left);
    const auto retention = reopened.session().retention().tokens;
    const auto logits = reopened.session().logits();
    StoredSession& again = tested.open();
    CHECK(again.session().pins() == left);
    CHECK(again.session().retention().tokens == retention);
    CHECK(again.session().logits() == logits);

    again.unpin({0, UINT32_MAX});
    CHECK(again.pins().empty());
    CHECK(again.session().pins().empty());
    CHECK(tested.open().session().pins().empty());
}

TEST_CASE("token numbers are pinned up to the end of the text, and refused behind it")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    const auto end = static_cast<uint32_t>(tokens_of(session.parts()));
    const auto numbers = [](uint32_t first, uint32_t last) {
        return std::to_string(first) + "-" + std::to_string(last);
    };
    tested.listener.notes.clear();
    session.pin({numbers(end - 4, end + 99)});
    REQUIRE(session.pins().size() == 1);
    CHECK(session.pins()[0].last == end);
    REQUIRE(tested.listener.notes.size() == 1);
    CHECK(tested.listener.notes[0].starts_with("'" + numbers(end - 4, end + 99) + "' reaches beyond the end"));
    CHECK(refusal([&] { session.pin({numbers(end, end + 1)}); }) == "PAL-PIN-02");
    CHECK(refusal([&] { session.pin({"0-1," + numbers(end + 5, end + 9)}); }) == "PAL-PIN-02");
    CHECK(refusal([&] { session.pin({end, end + 1}, "from the window"); }) == "PAL-PIN-02");
    session.pin({end - 8, end + 8}, "from the window");
    REQUIRE(session.pins().size() == 2);
    CHECK(session.pins()[0].last == end - 4);
    say(session, "And then?");
    CHECK(tested.open().pins().back().last == end);
}

TEST_CASE("token numbers wait for the documents that follow, and are cut at the end of the last one")
{
    BookSession tested;
    StoredSession& alone = tested.with_book();
    const auto end = static_cast<uint32_t>(tokens_of(alone.parts()));
    StoredOptions given = options();
    given.choice.pins = {std::to_string(end - 4) + "-" + std::to_string(end + 19)};
    const auto document = [&](const char* name, const std::string& text) {
        const std::filesystem::path file = tested.folder() / name;
        std::ofstream(file) << text;
        return Document(file.string(), std::cin);
    };
    SECTION("to which they reach")
    {
        StoredSession& session = tested.open("two", given);
        Document first = tested.book(),
                 second = document("second.txt", "Another. " + palimpsest::tests::sixty_years());
        session.read(first, true);
        CHECK(session.session().pins() == engine::Pins({{end - 4, end}}));
        session.read(second);
        CHECK(session.session().pins() == engine::Pins({{end - 4, end + 20}}));
        CHECK(tested.listener.notes.empty());
    }
    SECTION("that are too short")
    {
        StoredSession& session = tested.open("two", given);
        Document first = tested.book(), second = document("second.txt", "x");
        session.read(first, true);
        session.read(second);
        const auto all = static_cast<uint32_t>(tokens_of(session.parts()));
        REQUIRE(all < end + 20);
        CHECK(session.session().pins() == engine::Pins({{end - 4, all}}));
        CHECK(tested.listener.notes.size() == 1);
    }
    SECTION("that do not reach them at all")
    {
        given.choice.pins = {"999999"};
        StoredSession& session = tested.open("two", given);
        Document first = tested.book(), second = document("second.txt", "x");
        session.read(first, true);
        CHECK(refusal([&] { session.read(second); }) == "PAL-PIN-02");
        CHECK(session.pins().empty());
    }
}

TEST_CASE("a passage that is pinned after an answer stays pinned while the answer is regenerated")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    say(session, "Who kept it?");
    const uint64_t before = session.session().tokens_seen();
    const engine::TokenRange passage{static_cast<uint32_t>(before) - 40, static_cast<uint32_t>(before) - 30};
    session.pin(passage, "passage");
    session.pin({static_cast<uint32_t>(before) - 3, static_cast<uint32_t>(before)}, "of the answer");
    session.regenerate(seeded(2), tokens(answer_tokens));
    CHECK(tested.listener.reports == 0); // pinning kept a checkpoint from before the question
    REQUIRE(session.pins().size() == 1);
    CHECK(session.pins()[0].label == "passage");
    CHECK(session.held(passage) == 1);
    CHECK(session.session().pins() == engine::Pins({passage}));
    StoredSession& reopened = tested.open();
    CHECK(reopened.pins().size() == 1);
    CHECK(reopened.session().pins() == engine::Pins({passage}));
}

TEST_CASE("the fade record has every token that a layer no longer keeps, also after saving")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    const auto check = [](StoredSession& now) {
        const engine::RetentionMap map = now.session().retention();
        std::vector<std::set<uint32_t>> gone(static_cast<size_t>(map.layers));
        for (const engine::EvictionEvent& event : now.fade_record())
            CHECK(gone[static_cast<size_t>(event.layer)].insert(event.token).second);
        for (int32_t l = 0; l < map.layers; ++l) {
            std::set<uint32_t> held;
            for (int32_t h = 0; h < map.kv_heads; ++h)
                held.insert(map.of(l, h).begin(), map.of(l, h).end());
            CHECK(held.size() + gone[static_cast<size_t>(l)].size() == map.tokens_seen);
            for (const uint32_t token : held)
                CHECK(!gone[static_cast<size_t>(l)].contains(token));
        }
    };
    check(session);
    bool checked = false;
    auto watched = tokens(answer_tokens);
    watched.token = [&](engine::TokenId) {
        if (!checked) check(session); // between two checkpoints
        return checked = true;
    };
    session.say("Who kept it?", watched);
    CHECK(checked);
    session.regenerate(seeded(2), tokens(answer_tokens));
    check(session);
    check(tested.open());
}

TEST_CASE("a model that the caller has loaded is used, if it is the session's")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    CHECK(session.shared_model() == model());
    const SessionInfo info = tested.store().conversations.get("book");
    CHECK(SessionSettings(info).model == std::filesystem::absolute(fixtures + "llama.f32.gguf").string());
    auto other = options();
    other.model = load("qwen2.bf16.gguf");
    CHECK(refusal([&] { tested.open("book", other); }) == "PAL-SNAP-02");
    other.choice.is_given = [](Setting setting) { return setting == Setting::Model; };
    CHECK(refusal([&] { tested.open("book", other); }) == "PAL-SESSION-06");
}

TEST_CASE("the source offset of any token of a document can be looked up")
{
    ScratchDatabase scratch;
    Import import(*scratch, "long", "-", "model");
    constexpr uint64_t count = 3 * 65536 + 1000;
    std::vector<engine::EncodedToken> all;
    uint64_t end = 0;
    for (uint64_t i = 0; i < count; ++i) {
        end += i % 7 == 0 ? 0 : i % 1000 == 1 ? 300 : i % 11;
        all.push_back({.id = 1, .end = end});
    }
    import.add_text(std::string(end, 'x'));
    for (size_t at = 0; at < all.size(); at += 5000)
        import.add_tokens(std::span(all).subspan(at, std::min<size_t>(5000, all.size() - at)));
    const int64_t id = import.finish({});
    Library library(*scratch);
    const auto check = [&](uint64_t first, uint64_t wanted) {
        const auto ends = library.token_ends(id, first, wanted);
        const uint64_t there = first < count ? std::min(wanted, count - first) : 0;
        REQUIRE(ends.size() == there);
        for (uint64_t i = 0; i < there; ++i)
            REQUIRE(ends[i] == all[first + i].end);
    };
    for (const bool old : {false, true}) {
        check(0, count + 10);
        check(65536, 3);
        check(131000, 100);
        check(131071, 2);
        check(count - 1, 5);
        check(count, 5);
        check(10 * count, 5);
        // Older versions imported documents without these blocks.
        if (!old) scratch->sql().exec("DELETE FROM document_blocks WHERE kind = 3");
    }
    scratch->sql().exec("UPDATE document_blocks SET data = zeroblob(length(data)) WHERE kind = 2 AND idx = 1");
    CHECK(refusal([&] { library.token_ends(id, 70000, 1); }) == "PAL-DOC-05");
}
