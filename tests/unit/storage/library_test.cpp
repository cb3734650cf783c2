// Documents are stored once by their content, and stay without a session if they are in the library.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "storage/session/document_folders.h"
#include "storage/session/document_storer.h"
#include "storage/session/reading.h"
#include "storage/session/structure_finder.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::RecordingListener;
using palimpsest::tests::refusal;
using tests::BookSession;
using tests::check_same;
using tests::load;
using tests::model;
using tests::options;
using tests::say;
using tests::sixty_years;
namespace fs = std::filesystem;

namespace {

class Folder {
public:
    Folder() { scratch_.clear(); }

    std::string write(const std::string& name, const std::string& text) const
    {
        const fs::path file = path() / name;
        fs::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file.string();
    }
    fs::path path() const { return scratch_.file().parent_path(); }
    std::unique_ptr<Store> open() const { return open_store(scratch_.file().string(), Database::Access::Write); }

private:
    tests::ScratchDatabase scratch_;
};

StoredDocument stored(Store& store, const std::string& file, RecordingListener& listener,
                      const engine::Model& read_by = *model(), bool first_text = false)
{
    Document document(file, std::cin, listener.stop());
    return DocumentStorer(store, read_by, first_text, listener).store(document);
}

std::vector<int64_t> ids_of(Library& library)
{
    std::vector<int64_t> ids;
    for (const DocumentInfo& info : library.list())
        ids.push_back(info.id);
    return ids;
}

int64_t rows(Store& store, const char* table)
{
    return store.database.sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt64();
}

} // namespace

TEST_CASE("a file with the content of a stored document is not stored again")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    const std::string book = folder.write("book.txt", sixty_years()),
                      copy = folder.write("a/copy.txt", sixty_years());
    const StoredDocument first = stored(*store, book, listener);
    CHECK(first.is_new);
    const int64_t blocks = rows(*store, "document_blocks"), passages = rows(*store, "passages");

    const StoredDocument again = stored(*store, book, listener);
    CHECK_FALSE(again.is_new);
    CHECK(again.info.id == first.info.id);
    CHECK(listener.notes.empty());

    CHECK(stored(*store, copy, listener).info.id == first.info.id);
    REQUIRE(listener.notes.size() == 1);
    CHECK(listener.notes[0].find("has the same content as") != std::string::npos);
    CHECK(stored(*store, copy, listener).info.id == first.info.id);
    CHECK(listener.notes.size() == 1); // it is known now
    CHECK(store->library.sources(first.info.id) == std::vector{book, copy});
    CHECK(rows(*store, "document_blocks") == blocks);
    CHECK(rows(*store, "passages") == passages);
}

TEST_CASE("a file is stored anew if its content, its kind, its model or its first token differs")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    const std::string text = "Chapter 1\n\n" + sixty_years();
    const int64_t first = stored(*store, folder.write("book.txt", text), listener).info.id;
    std::string other = text;
    std::swap(other[400], other[401]); // of the same size
    CHECK(stored(*store, folder.write("other.txt", other), listener).info.id != first);
    CHECK(stored(*store, folder.write("book.md", text), listener).info.id != first);
    const auto wide = load("llama3-scaled.f16.gguf");
    CHECK(stored(*store, folder.write("book.txt", text), listener, *wide).info.id != first);
}

TEST_CASE("a stored document is shared only where its first token is the one that it would have")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    std::string line;
    while (line.size() < 3000)
        line += "a first line that is longer than what an encoder takes at once, ";
    const std::string file = folder.write("book.txt", line + "\n" + sixty_years());
    const auto first_ids = [&](bool first_text) {
        Document document(file, std::cin);
        Coverage coverage;
        auto ids = encode_document(document, require_tokenizer(*model()), first_text, coverage);
        ids.resize(3);
        return ids;
    };
    const bool matters = first_ids(true) != first_ids(false);
    REQUIRE(matters); // with this model
    for (const bool first_text : {false, true, false, true}) {
        const StoredDocument one = stored(*store, file, listener, *model(), first_text);
        CHECK(store->library.ids(one.info.id, 0, 3) == first_ids(first_text));
    }
    CHECK(store->library.list().size() == 2);

    // So does a document that is read from what is stored.
    const DocumentInfo inner = stored(*store, file, listener, *model(), false).info;
    DocumentStorer begins(*store, *model(), true, listener);
    const StoredDocument copy = begins.store_copy(inner);
    CHECK(store->library.ids(copy.info.id, 0, 3) == first_ids(true));
    CHECK(store->library.list().size() == 2);
}

TEST_CASE("a damaged document is stored anew when its file is read again")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    const std::string file = folder.write("book.txt", sixty_years());
    for (const int kind : {0, 1}) {
        INFO(kind);
        const int64_t damaged = stored(*store, file, listener).info.id;
        store->database.sql().exec("UPDATE document_blocks SET hash = hash + 1 WHERE document = " +
                                   std::to_string(damaged) + " AND kind = " + std::to_string(kind));
        const StoredDocument anew = stored(*store, file, listener);
        CHECK(anew.is_new);
        CHECK(anew.info.id != damaged);
        CHECK(store->library.verify(anew.info.id) == anew.info.tokens);
        CHECK(listener.notes.back().find("is damaged") != std::string::npos);
    }
}

TEST_CASE("an imported document is never taken for a file")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    session.save();
    const fs::path gift = tested.folder() / "gift.palimpsest";
    export_session(tested.store().database, session.id(), gift);
    const Folder elsewhere;
    const auto store = elsewhere.open();
    RecordingListener listener;
    import_session(store->database, gift, "");
    const int64_t imported = ids_of(store->library).at(0);
    const StoredDocument own = stored(*store, elsewhere.write("book.txt", sixty_years()), listener, *model(), true);
    CHECK(own.is_new);
    CHECK(own.info.id != imported);
}

TEST_CASE("what misses a block at its end is not tokenized again as if it were whole")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    std::string text;
    while (text.size() < 300'000)
        text += sixty_years();
    const DocumentInfo info = stored(*store, folder.write("book.txt", text), listener).info;
    store->database.sql().exec("DELETE FROM document_blocks WHERE kind = 0 AND idx = 1");
    const auto wide = load("llama3-scaled.f16.gguf");
    DocumentStorer storer(*store, *wide, false, listener);
    CHECK(refusal([&] { storer.store_copy(info); }) == "PAL-DOC-05");
    CHECK(store->library.list().size() == 1);
}

TEST_CASE("a stored document is read behind one that was read in part, and a second time only when told to")
{
    BookSession tested, uninterrupted;
    StoredSession* session = &tested.open();
    const auto second = [](BookSession& at, StoredSession&) {
        std::ofstream(at.folder() / "second.txt") << "a second book\n" << sixty_years();
        Document document((at.folder() / "second.txt").string(), std::cin);
        DocumentStorer storer(at.store(), *model(), false, at.listener);
        return storer.store(document).info.id;
    };
    tested.listener.at_progress = [&] { tested.listener.stop_source.request_stop(); };
    Document book = tested.book();
    CHECK_THROWS_AS(session->read(book), Interrupted);
    REQUIRE(session->is_half_read());
    tested.listener.at_progress = {};
    tested.listener.stop_source = {};
    session->read_stored({second(tested, *session)});

    StoredSession& other = uninterrupted.with_book();
    other.read_stored({second(uninterrupted, other)});
    check_same(*session, other);

    const uint64_t tokens = session->session().tokens_seen();
    session->read_stored({second(tested, *session)});
    CHECK(session->session().tokens_seen() == tokens);
    CHECK(tested.listener.notes.back().find("was read into this session before") != std::string::npos);
}

TEST_CASE("a document without text is refused and leaves nothing")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    const std::string empty = folder.write("empty.txt", "");
    CHECK(refusal([&] { stored(*store, empty, listener); }) == "PAL-DOC-03");
    CHECK(rows(*store, "documents") == 0);
}

TEST_CASE("a document is tokenized again for another model, with its sections and pages")
{
    const Folder folder;
    const auto store = folder.open();
    RecordingListener listener;
    std::string text;
    for (int chapter = 1; chapter <= 3; ++chapter)
        text += "# Chapter " + std::to_string(chapter) + "\n\n" + sixty_years() + "\n";
    const std::string file = folder.write("book.md", text);
    const DocumentInfo from = stored(*store, file, listener).info;
    store->database.transaction([&] {
        store->database.sql().exec("INSERT INTO pages SELECT document, idx, 'p' || idx, first_token, first_byte "
                                   "FROM sections");
    });
    const auto wide = load("llama3-scaled.f16.gguf");
    DocumentStorer storer(*store, *wide, false, listener);
    const StoredDocument copy = storer.store_copy(from);
    CHECK(copy.is_new);
    CHECK(copy.info.tokenizer == wide->fingerprint());
    CHECK(copy.info.words == from.words);
    CHECK(store->library.verify(copy.info.id) == copy.info.tokens);
    CHECK(storer.store_copy(from).info.id == copy.info.id);
    CHECK(storer.store_copy(copy.info).info.id == copy.info.id);

    // The file itself, read by that model in a database of its own, has the same ids and sections.
    const Folder other;
    const auto direct_store = other.open();
    const DocumentInfo direct = stored(*direct_store, file, listener, *wide).info;
    CHECK(store->library.ids(copy.info.id, 0, copy.info.tokens) ==
          direct_store->library.ids(direct.id, 0, direct.tokens));
    const auto sections = store->library.sections(copy.info.id),
               expected = direct_store->library.sections(direct.id);
    const auto pages = store->library.pages(copy.info.id);
    REQUIRE(sections.size() == 3);
    REQUIRE(expected.size() == 3);
    REQUIRE(pages.size() == 3);
    for (size_t i = 0; i < sections.size(); ++i) {
        CHECK(sections[i].title == expected[i].title);
        CHECK(sections[i].first_token == expected[i].first_token);
        CHECK(sections[i].first_byte == expected[i].first_byte);
        CHECK(pages[i].first_token == expected[i].first_token);
        CHECK(pages[i].label == "p" + std::to_string(i));
    }
}

TEST_CASE("documents of the library stay when their last session is deleted, others go")
{
    BookSession tested;
    tested.with_book();
    const int64_t document = ids_of(tested.store().library).at(0);
    tested.store().library.keep(document);
    tested.store().library.keep(document);
    CHECK(tested.store().library.get(document).kept_ms > 0);
    CHECK(tested.store().library.sessions_of(document) == std::vector<std::string>{"book"});
    const auto forget_session = [&](Store& store) {
        CHECK_FALSE(store.conversations.remove(store.conversations.get("book").id));
    };
    forget_session(tested.store());
    CHECK(ids_of(tested.store().library) == std::vector{document});

    // A later session reads it from what is stored, and then it belongs to both.
    StoredSession& session = tested.open();
    CHECK(ids_of(tested.store().library) == std::vector{document}); // the start swept nothing
    session.read_stored({document});
    BookSession direct;
    check_same(session, direct.with_book());
    const auto error = tested.store().library.stop_keeping(std::vector{document});
    CHECK_FALSE(error);
    CHECK(tested.store().library.get(document).kept_ms == 0);
    forget_session(tested.store());
    CHECK(ids_of(tested.store().library).empty());
    CHECK(rows(tested.store(), "passages") == 0);
}

TEST_CASE("taking a document out of the library deletes it for good if no session has it")
{
    const Folder folder;
    auto store = folder.open();
    RecordingListener listener;
    const std::string secret = "a secret that nobody may find again";
    const int64_t document = stored(*store, folder.write("book.txt", sixty_years() + secret), listener).info.id;
    store->library.keep(document);
    CHECK_FALSE(store->library.stop_keeping(std::vector{document}));
    CHECK(rows(*store, "documents") == 0);
    const fs::path file = store->database.file();
    store.reset();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(file.parent_path())) {
        if (!entry.is_regular_file() || entry.path().filename() == "book.txt") continue;
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(in)), {});
        INFO(entry.path());
        CHECK(bytes.find("nobody may find") == std::string::npos);
    }
}

TEST_CASE("a session reads a copy of its document no second time, except when told to")
{
    BookSession tested;
    StoredSession& session = tested.with_book();
    const uint64_t tokens = session.session().tokens_seen();
    fs::copy_file(tested.folder() / "book.txt", tested.folder() / "copy.txt");
    Document copy((tested.folder() / "copy.txt").string(), std::cin);
    session.read(copy);
    CHECK(session.session().tokens_seen() == tokens);
    CHECK(ids_of(tested.store().library).size() == 1);
    REQUIRE(!tested.listener.notes.empty());
    CHECK(tested.listener.notes.back().find("was read into this session before") != std::string::npos);

    // A change of the session's own file is noticed, one of the copy makes it another document.
    std::ofstream(tested.folder() / "copy.txt", std::ios::app) << "more\n";
    Document changed((tested.folder() / "copy.txt").string(), std::cin);
    session.read(changed);
    CHECK(session.session().tokens_seen() > tokens);
    CHECK(ids_of(tested.store().library).size() == 2);

    StoredOptions again = options();
    again.again = true;
    StoredSession& twice = tested.open("book", again);
    Document book = tested.book();
    twice.read(book);
    CHECK(twice.session().tokens_seen() > tokens);
}

TEST_CASE("two sessions share one stored document and are what they would be alone")
{
    BookSession tested, alone;
    StoredSession& first = tested.with_book();
    say(first, "who?");
    StoredSession& second = tested.open("second");
    Document book = tested.book();
    second.read(book);
    CHECK(ids_of(tested.store().library).size() == 1);
    check_same(second, alone.with_book());
    CHECK(tested.store().library.sessions_of(ids_of(tested.store().library)[0]) ==
          std::vector<std::string>{"book", "second"});
    CHECK_FALSE(tested.store().conversations.remove(tested.store().conversations.get("book").id));
    StoredSession& resumed = tested.open("second");
    check_same(resumed, alone.with_book());
}

TEST_CASE("an imported session takes no second copy of a document that is stored")
{
    BookSession tested, alone;
    StoredSession& session = tested.with_book();
    say(session, "who?");
    const fs::path file = tested.folder() / "book.palimpsest";
    session.save();
    export_session(tested.store().database, session.id(), file);
    CHECK(import_session(tested.store().database, file, "again") == "again");
    CHECK(ids_of(tested.store().library).size() == 1);
    StoredSession& again = tested.open("again");
    StoredSession& expected = alone.with_book();
    say(expected, "who?");
    check_same(again, expected);

    CHECK_FALSE(tested.store().conversations.remove(tested.store().conversations.get("book").id));
    CHECK(ids_of(tested.store().library).size() == 1); // the imported session has it
    const Folder elsewhere;
    const auto other = elsewhere.open();
    import_session(other->database, file, "");
    CHECK(ids_of(other->library).size() == 1);
    check_same(tested.open("again"), expected);
}

TEST_CASE("the documents of a folder are found in reading order")
{
    const Folder folder;
    const fs::path books = folder.path() / "books";
    for (const char* name : {"chapter 10.txt", "chapter 2.txt", "chapter 02b.md", "notes.TXT", "cover.jpg",
                             "deep/z.epub", ".hidden.txt", ".git/x.txt", "appendix.pdf"})
        folder.write("books/" + std::string(name), "x");
    fs::create_directory_symlink(books, books / "loop");
    const FoundDocuments found = find_documents({"-", books.string(), "missing.txt"}, {});
    std::vector<std::string> names;
    for (const std::string& file : found.files)
        names.push_back(fs::path(file).lexically_relative(books).string());
    CHECK(found.files.front() == "-");
    CHECK(found.files.back() == "missing.txt");
    CHECK(std::vector(names.begin() + 1, names.end() - 1) ==
          std::vector<std::string>{"appendix.pdf", "chapter 2.txt", "chapter 02b.md", "chapter 10.txt",
                                   "deep/z.epub", "notes.TXT"});
    CHECK(found.other_files == 1);
    CHECK(found.unreadable.empty());
}
