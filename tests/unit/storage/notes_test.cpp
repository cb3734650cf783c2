// Notes while a document is read: they cover it, change nothing else, and are the same however the reading was
// stopped and continued. The tiny model writes nonsense, which is refused: what it wrote is compared, too.
#include <algorithm>
#include <sstream>

#include "storage/notes/notes.h"
#include "storage/session/session_verification.h"
#include "storage/session/summary.h"
#include "storage/transfer.h"
#include "tests/support/fixtures/refused.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;
using palimpsest::tests::check_same;
using palimpsest::tests::refusal;
using palimpsest::tests::say;

namespace {

std::string chapter(int number, const std::string& subject)
{
    std::string text = "CHAPTER " + std::to_string(number) + "\n\n";
    for (int i = 0; i < 8; ++i)
        text +=
            "On day " + std::to_string(10 * number + i) + " the " + subject + " was seen by the old keeper.\n\n";
    return text;
}

std::string novel(const std::string& third = "whale")
{
    return chapter(1, "ship") + chapter(2, "storm") + chapter(3, third) + chapter(4, "lamp") + chapter(5, "boat");
}

StoredOptions noting(NoteMode mode = NoteMode::Always)
{
    StoredOptions options = tests::options();
    options.notes = mode;
    return options;
}

struct NotedBook : BookSession {
    explicit NotedBook(const std::string& text = novel()) : BookSession(text) {}
    std::vector<Note> read(const StoredOptions& options = noting()) { return with_book(options).notes(); }
};

// What notes say and are about, without what it cost to write them.
std::vector<std::string> contents(const std::vector<Note>& notes)
{
    std::vector<std::string> all;
    all.reserve(notes.size());
    for (const Note& note : notes)
        all.push_back(std::to_string(note.about.first_token) + '-' + std::to_string(note.about.end_token) + ' ' +
                      std::to_string(note.about.section) + ' ' + note.text + '|' + note.refused);
    return all;
}

void check_covers(const std::vector<Note>& notes, uint64_t tokens)
{
    uint64_t at = 0;
    for (const Note& note : notes) {
        CHECK(note.about.first_token == at);
        CHECK_FALSE(note.text.empty());
        at = note.about.end_token;
    }
    CHECK(at == tokens);
}

} // namespace

TEST_CASE("every section of a document that is read has a note, of its own sentences if what is written is refused")
{
    NotedBook tested;
    const auto notes = tested.read();
    const DocumentInfo document = tested.store().library.list().at(0);
    REQUIRE(notes.size() == 5);
    check_covers(notes, document.tokens);
    const auto sections = tested.store().library.sections(document.id);
    const char* subjects[] = {"ship", "storm", "whale", "lamp", "boat"};
    for (size_t i = 0; i < notes.size(); ++i) {
        CHECK(notes[i].about.section == static_cast<int64_t>(i));
        CHECK(notes[i].origin == NoteOrigin::Quoted);
        CHECK(notes[i].text.find(subjects[i]) != std::string::npos);
        CHECK_FALSE(notes[i].refused.empty());
        CHECK(notes[i].tokens > 0);
        const std::string text =
            tested.store().library.text(document.id, notes[i].about.first_byte, notes[i].about.end_byte);
        CHECK_THAT(text, Catch::Contains(notes[i].text.substr(0, notes[i].text.find('.') + 1)));
    }
    CHECK(contents(tested.listener.written) == contents(notes));
}

TEST_CASE("a session that writes notes holds the same, bit for bit, as one that writes none")
{
    NotedBook with, without;
    StoredSession& noted = with.with_book(noting());
    check_same(noted, without.with_book(noting(NoteMode::Never)));
    CHECK(noted.notes().size() == 5);
    const auto said = say(noted, "and then?");
    CHECK(said == say(without.open(), "and then?"));
}

TEST_CASE("notes are the same however often the reading is stopped, and none is written twice")
{
    const auto whole = contents(NotedBook().read());
    for (const bool after_notes : {true, false}) {
        NotedBook tested;
        size_t stops = 0;
        const auto stop = [&] {
            tested.listener.stop_source.request_stop();
            ++stops;
        };
        (after_notes ? tested.listener.at_note : tested.listener.at_progress) = stop;
        bool is_read = false;
        while (!is_read) {
            REQUIRE(stops < 200);
            tested.listener.stop_source = std::stop_source();
            StoredSession& session = tested.open("book", noting());
            try {
                Document document = tested.book();
                session.read(document);
                session.complete_notes();
                is_read = true;
            } catch (const Interrupted&) {
            }
        }
        CHECK(stops > 1);
        StoredSession& read = tested.open("book", noting());
        CHECK(contents(read.notes()) == whole);
        NotedBook unstopped;
        check_same(read, unstopped.with_book(noting()));
        CHECK(contents(tested.listener.written) == whole);
    }
}

TEST_CASE("another section changes its own note and no earlier one")
{
    const auto before = contents(NotedBook().read()), after = contents(NotedBook(novel("horse")).read());
    REQUIRE(before.size() == after.size());
    CHECK(std::equal(before.begin(), before.begin() + 2, after.begin()));
    CHECK(before[2] != after[2]);
}

TEST_CASE("notes are wanted for documents that are longer than what the session holds")
{
    NotedBook tested;
    CHECK(tested.read(noting(NoteMode::IfLonger)).size() == 5);
    NotedBook brief("The keeper lit the lamp.");
    CHECK(brief.read(noting(NoteMode::IfLonger)).empty());
    CHECK_FALSE(brief.open("book", noting(NoteMode::IfLonger)).complete_notes());
    CHECK(NotedBook("The keeper lit the lamp.").read(noting(NoteMode::Always)).size() == 1);
}

TEST_CASE("once a session has notes, later documents get them, too, so that no summary is of a part")
{
    NotedBook tested;
    StoredSession& session = tested.with_book(noting());
    std::istringstream more("The keeper of the mill put out his lamp at noon, and he slept until it was dusk.\n");
    Document other("-", more);
    session.read(other);
    StoredSession& again = tested.open("book", noting(NoteMode::IfLonger));
    REQUIRE(again.complete_notes());
    CHECK(again.notes().size() == 6);
}

TEST_CASE("a document that is twice in a session has each note once")
{
    NotedBook tested;
    StoredSession& session = tested.with_book(noting(NoteMode::Never));
    session.read_stored({tested.store().library.list().at(0).id});
    StoredSession& again = tested.open("book", noting());
    REQUIRE(again.complete_notes());
    CHECK(tested.listener.written.size() == 5);
    CHECK(again.notes().size() == 5);
}

TEST_CASE("a document whose sections cannot be known is named, and there is no summary of the others alone")
{
    NotedBook tested;
    tested.with_book(noting(NoteMode::Never));
    tested.store().database.sql().exec("DELETE FROM indexed_documents; DELETE FROM passages; "
                                       "UPDATE document_blocks SET hash = hash + 1 WHERE kind = 0");
    StoredSession& session = tested.open("book", noting());
    CHECK(refusal([&] { session.complete_notes(); }) == "PAL-DOC-05");
}

TEST_CASE("a document that was read without notes gets them later")
{
    NotedBook tested;
    CHECK(tested.read(noting(NoteMode::Never)).empty());
    StoredSession& session = tested.open("book", noting());
    const auto logits = session.session().logits();
    REQUIRE(session.complete_notes());
    check_covers(session.notes(), tested.store().library.list().at(0).tokens);
    CHECK(session.session().logits() == logits);
    // The first stretch is all that either session had read.
    CHECK(contents(session.notes()).at(0) == contents(NotedBook().read()).at(0));
    auto read_again = session.notes();
    read_again.pop_back(); // at its end, the session stood
    for (const Note& note : read_again)
        CHECK(note.tokens > note.about.tokens());
    const size_t written = tested.listener.written.size();
    REQUIRE(session.complete_notes());
    CHECK(tested.listener.written.size() == written);
}

TEST_CASE("a note that is damaged is left out, and written again")
{
    NotedBook tested;
    tested.read();
    CHECK(verified_session(tested.store(), "book").document_tokens > 0);
    tested.store().database.sql().exec("UPDATE notes SET text = 'The captain was Ahab.' WHERE section = 2");
    CHECK(test::refused([&] { verified_session(tested.store(), "book"); }).says("damaged notes: 1"));
    StoredSession& session = tested.open("book", noting());
    CHECK(session.notes().size() == 4);
    session.complete_notes();
    REQUIRE(session.notes().size() == 5);
    CHECK(session.notes()[2].text.find("whale") != std::string::npos);
}

TEST_CASE("copies, branches, exports and imports of a session have its notes, and undo keeps them")
{
    NotedBook tested;
    const auto notes = contents(tested.read());
    StoredSession& session = tested.open("book", noting(NoteMode::Never));
    say(session, "and then?");
    const int64_t message = tested.messages().at(0).id;
    session.branch("branched", message);
    session.undo();
    CHECK(contents(session.notes()) == notes);
    fork_session(tested.store(), "book", "copy");
    export_session(tested.store().database, session.id(), tested.folder() / "book.palimpsest");
    import_session(tested.store().database, tested.folder() / "book.palimpsest", "imported");
    for (const char* name : {"branched", "copy", "imported"}) {
        INFO(name);
        CHECK(contents(tested.open(name, noting(NoteMode::Never)).notes()) == notes);
    }
    StoredSession& copy = tested.open("copy", noting());
    const size_t written = tested.listener.written.size();
    copy.complete_notes();
    CHECK(tested.listener.written.size() == written);
}

TEST_CASE("notes of a removed session are removed, and others stay")
{
    NotedBook tested;
    tested.read();
    fork_session(tested.store(), "book", "copy");
    auto& conversations = tested.store().conversations;
    const int64_t removed = conversations.get("book").id, kept = conversations.get("copy").id;
    conversations.remove(removed);
    CHECK(Notes(tested.store().database).of(removed).empty());
    CHECK(Notes(tested.store().database).of(kept).size() == 5);
}

TEST_CASE("a session without room for a request quotes the document")
{
    NotedBook tested(
        "The old keeper lit the great lamp of the lighthouse every evening at dusk, and he put it "
        "out again every morning at dawn, and then he slept for a while below it until noon. In the "
        "winter of the great storm he did not sleep at all, and he wrote down every ship that passed.");
    StoredOptions full = noting();
    full.choice.policy = "full";
    full.choice.budget = "none";
    const auto notes = tested.read(full);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].origin == NoteOrigin::Quoted);
    CHECK(notes[0].refused.empty());
}

TEST_CASE("a summary of many notes is merged level by level, and says nothing that they do not")
{
    NotedBook tested;
    StoredSession& session = tested.with_book(noting());
    const auto notes = session.notes();
    const auto logits = session.session().logits();
    const auto summary =
        write_summary(session, notes, {.prompt = "Summarize the text above.", .sampler = {}, .max_tokens = 24});
    REQUIRE(summary);
    CHECK(summary->levels > 0); // five notes do not fit half of 64 tokens
    CHECK(summary->origin == NoteOrigin::Quoted);
    CHECK(summary->text.find("keeper") != std::string::npos);
    CHECK(summary->tokens > 0);
    CHECK(session.session().logits() == logits);
    const auto again =
        write_summary(session, notes, {.prompt = "Summarize the text above.", .sampler = {}, .max_tokens = 24});
    CHECK(again->text == summary->text);
    std::stop_source stopped;
    stopped.request_stop();
    CHECK_FALSE(write_summary(session, notes, {.prompt = "Summarize.", .stop = stopped.get_token()}));
}
