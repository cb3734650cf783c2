// The text of the document view: how it is read from the database and cut into blocks, and how damage is reported.
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>

#include "kernels/base/error.h"
#include "storage/document_import.h"
#include "tests/ui/document/shown_document.h"
#include "tests/ui/support/patience.h"
#include "tests/unit/storage/scratch_database.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

} // namespace

class TextSourceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_block_is_the_same_for_each_of_its_tokens();
    void a_stored_session_is_read_from_the_database();
    void the_text_of_a_message_is_divided_among_its_tokens();
    void a_token_that_is_a_part_of_a_character_shows_all_of_it();
    void a_damaged_text_is_reported_once();
    void a_text_that_cannot_be_opened_fails_and_is_not_empty();
    void the_destructor_does_not_wait_for_a_read();
    void bytes_are_located_as_the_tokens_that_spell_them();
};

void TextSourceTest::a_block_is_the_same_for_each_of_its_tokens()
{
    const SyntheticText text{100'000};
    const auto source = text.source();
    BlockReader reader(*source);
    const auto block_of = [&](uint64_t token) {
        std::optional<TextBlock> block;
        const bool came = test::eventually([&] { return (block = reader.block_of(token)).has_value(); });
        return came ? *block : TextBlock{};
    };
    for (uint64_t token = 19'000; token < 30'500;) {
        const TextBlock block = block_of(token);
        QVERIFY(block.range.first == token || token == 19'000);
        QVERIFY(block.range.last > token);
        QVERIFY(block.range.last - block.range.first <= 1088);
        QCOMPARE(block.starts.size(), block.range.last - block.range.first + 1);
        for (const uint64_t inside :
             {block.range.first, (block.range.first + block.range.last) / 2, block.range.last - 1})
            QCOMPARE(block_of(inside).range, block.range);
        const std::string before = text.text(block.range.last - 1), behind = text.text(block.range.last);
        QVERIFY(before.find('\n') != std::string::npos || behind.front() == ' ');
        token = block.range.last;
    }
}

void TextSourceTest::a_token_that_is_a_part_of_a_character_shows_all_of_it()
{
    const TextPage page{.first = 5, .text = "a\u4E2D\U0001F642b", .ends = {1, 2, 3, 6, 6, 8, 9}};
    const std::vector<std::string_view> characters = {"a", "\u4E2D",     "\u4E2D", "\u4E2D\U0001F642",
                                                      "",  "\U0001F642", "b"};
    for (uint64_t i = 0; i < characters.size(); ++i)
        QCOMPARE(std::string(page.characters(5 + i)), std::string(characters[i]));
}

void TextSourceTest::a_stored_session_is_read_from_the_database()
{
    tests::ScratchDatabase scratch;
    const SyntheticText text{150'000};
    std::vector<engine::EncodedToken> tokens;
    std::string body;
    for (uint64_t token = 1; token <= 140'000; ++token) {
        const size_t begin = body.size();
        body += text.text(token);
        tokens.push_back({static_cast<engine::TokenId>(token), begin, body.size()});
    }
    int64_t document = 0;
    {
        storage::Import import(*scratch, "A title", "a.txt", "fingerprint");
        import.add_text(body);
        import.add_tokens(tokens);
        document = import.finish({});
    }
    storage::Conversations conversations(*scratch);
    const int64_t session = conversations.create({.name = "one"});
    const int64_t question = conversations.add_message(session, {.text = "Who kept it?", .ids = {1, 2, 3, 4, 5}});

    SessionFacts facts;
    facts.documents = {
        {.info = storage::Library(*scratch).get(document),
         .range = {3, 140'003},
         .sections = {{"One", 1000, 0}},
         .pages = {{"xii", 500, 0}, {"blank", 1000, 9}, {"1", 1000, 9}, {"after the end", 140'000, 99}}}};
    facts.turns.resize(1);
    facts.turns[0].message = question;
    facts.turns[0].range = {140'003, 140'008};
    const TextOutline outline = outline_of(facts, 140'010);
    QCOMPARE(outline.parts.size(), size_t{4});
    QCOMPARE(outline.tokens, uint64_t{140'010});
    QCOMPARE(outline.heading_of(1003)->title, QStringLiteral("One"));
    QCOMPARE(outline.heading_of(1002)->title, QStringLiteral("A title"));
    QVERIFY(!outline.heading_of(2));
    QVERIFY(!outline.page_of(502));
    QCOMPARE(outline.place_name(502), QStringLiteral("A title"));
    QCOMPARE(outline.place_name(503), QStringLiteral("A title · page xii"));
    QCOMPARE(outline.place_name(140'002), QStringLiteral("One · page 1"));
    QVERIFY(!outline.page_of(140'003)); // a question has no page
    QCOMPARE(outline.place_name(StreamRange{503, 140'003}), QStringLiteral("A title · pages xii–1"));
    QCOMPARE(outline.place_name(StreamRange{502, 504}), QStringLiteral("A title · page xii"));
    // A range that begins before the first page, or before the document, names the first page that it contains.
    QCOMPARE(outline.place_name(StreamRange{502, 140'003}), QStringLiteral("A title · pages xii–1"));
    QCOMPARE(outline.place_name(StreamRange{0, 504}), QStringLiteral("A title · page xii"));

    const std::vector<std::string> words = {"", "", "Who", " kept", " it?", ""};
    const auto file = QString::fromStdString(scratch.file().string());
    StoredPages pages(file, outline,
                      [&](engine::TokenId id) -> const std::string& { return words[static_cast<size_t>(id)]; });
    for (const uint64_t first : {uint64_t{0}, uint64_t{65'000}, uint64_t{66'000}, uint64_t{139'000}}) {
        const TextPage page = pages.read(first, 2048);
        QCOMPARE(page.last(), std::min<uint64_t>(first + 2048, 140'010));
        for (uint64_t token = first; token < page.last(); ++token) {
            const bool in_document = token >= 3 && token < 140'003;
            const bool in_question = token >= 140'003 && token < 140'008;
            const std::string expected = in_document   ? text.text(token - 2)
                                         : in_question ? words[token - 140'003 + 1]
                                                       : "";
            QCOMPARE(std::string(page.bytes(token)), expected);
        }
    }

    auto view = view_of(std::make_shared<TextSource>(outline, stored_pages(file, outline, {})));
    view->jump_to(140'003);
    QVERIFY(arrives(*view));
    QCOMPARE(view->text_layout().paragraph(140'005), QStringLiteral("Who kept it?"));
    conversations.append_fade_record(session, std::vector<engine::EvictionEvent>{{0, 5, 1}, {1, 6, 2}}, 100);
    size_t events = 0;
    const FadeRecord record = stored_fade_record(file, session);
    record.read([&](std::span<const engine::EvictionEvent> some) {
        events += some.size();
        return true;
    });
    QCOMPARE(events, size_t{2});
    const storage::FadeRecordMark mark = record.mark();
    conversations.rename(session, "two");
    QVERIFY(record.mark() == mark);
    conversations.append_fade_record(session, std::vector<engine::EvictionEvent>{{0, 7, 3}}, 200);
    QVERIFY(record.mark() != mark);
}

void TextSourceTest::the_text_of_a_message_is_divided_among_its_tokens()
{
    const std::vector<std::string> surfaces = {"", " Who", " kept", " it", "?", "user\n"};
    const TokenBytes bytes = [&](engine::TokenId id) -> const std::string& {
        return surfaces[static_cast<size_t>(id)];
    };
    const std::vector<engine::TokenId> ids = {0, 5, 1, 2, 3, 4, 0};
    const PartText exact = message_text("Who kept it?", ids, bytes);
    QCOMPARE(exact.text, std::string("Who kept it?"));
    QCOMPARE(exact.ends, (std::vector<uint64_t>{0, 0, 3, 8, 11, 12, 12}));
    const PartText even = message_text("äöü", ids, {});
    QCOMPARE(even.ends.size(), ids.size());
    QCOMPARE(even.ends.back(), uint64_t{6});
    for (const uint64_t end : even.ends)
        QVERIFY(end % 2 == 0); // never within a character
}

void TextSourceTest::a_damaged_text_is_reported_once()
{
    class Damaged : public PageReader {
        [[noreturn]] static void refuse()
        {
            throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument, Text("document {0}", 1),
                        Text("it is damaged"), Text("import it again"));
        }
        TextPage read(uint64_t, uint64_t) override { refuse(); }
        StreamRange tokens_of(const TextPart&, ByteRange) override { refuse(); }
    };
    const SyntheticText text{1000};
    const auto source = std::make_shared<TextSource>(text.outline(), [] { return std::make_unique<Damaged>(); });
    QSignalSpy failed(source.get(), &TextSource::failed);
    auto view = view_of(source);
    EVENTUALLY(!failed.isEmpty());
    QVERIFY(failed.at(0).at(0).toString().contains(QStringLiteral("PAL-DOC-05")));
    QVERIFY(!view->text_layout().is_complete());
    QCoreApplication::processEvents();
    const auto told = failed.size();
    QVERIFY(test::stays([&] { return failed.size() == told; }, 100)); // reported only once
    Finding finding;
    connect(source.get(), &TextSource::found, this, [&](const Finding& found) { finding = found; });
    source->find(QStringLiteral("x"));
    EVENTUALLY(finding.finished);
    QCOMPARE(finding.unread, quint64{1000});
    QVERIFY(source->locate(1, {3, 5}, this, [](StreamRange) { QFAIL("there is nothing to tell"); }));
    EVENTUALLY_EQUAL(failed.size(), told + 2);
    QVERIFY(!source->locate(2, {3, 5}, this, [](StreamRange) {}));
}

void TextSourceTest::a_text_that_cannot_be_opened_fails_and_is_not_empty()
{
    const SyntheticText text{1000};
    TextSource source(text.outline(), []() -> std::unique_ptr<PageReader> {
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleDatabase, Text::verbatim("palimpsest.db"),
                    Text("it cannot be opened"), Text("look at it"));
    });
    QSignalSpy failed(&source, &TextSource::failed);
    Finding finding;
    connect(&source, &TextSource::found, this, [&](const Finding& found) { finding = found; });
    source.find(QStringLiteral("x"));
    EVENTUALLY(finding.finished);
    QCOMPARE(finding.unread, quint64{1000});
    Excerpt excerpt;
    connect(&source, &TextSource::fetched, this, [&](const Excerpt& some) { excerpt = some; });
    const quint64 number = source.fetch({1, 10});
    EVENTUALLY(excerpt.finished);
    QCOMPARE(excerpt.number, number);
    QVERIFY(excerpt.text.isEmpty());
    QVERIFY(failed.size() >= 2 && failed.back()[0].toString().contains(QStringLiteral("PAL-DB-01")));
}

void TextSourceTest::the_destructor_does_not_wait_for_a_read()
{
    class Slow : public tests::SyntheticPages {
    public:
        Slow(SyntheticText text, std::shared_ptr<QSemaphore> began, std::shared_ptr<QSemaphore> may_end)
            : SyntheticPages(text), began_(std::move(began)), may_end_(std::move(may_end))
        {
        }
        TextPage read(uint64_t first, uint64_t count) override
        {
            began_->release();
            may_end_->acquire();
            return SyntheticPages::read(first, count);
        }

    private:
        std::shared_ptr<QSemaphore> began_, may_end_;
    };
    const SyntheticText text;
    const auto began = std::make_shared<QSemaphore>(), may_end = std::make_shared<QSemaphore>();
    auto source =
        std::make_unique<TextSource>(text.outline(), [=] { return std::make_unique<Slow>(text, began, may_end); });
    source->fetch({0, text.tokens});
    QVERIFY(began->tryAcquire(1, 5000));
    source.reset();      // must not wait for the read
    may_end->release(1); // lets the reader return one page, after which it must stop
    QVERIFY(QThreadPool::globalInstance()->waitForDone(5000));
    QCOMPARE(began->available(), 0);
}

void TextSourceTest::bytes_are_located_as_the_tokens_that_spell_them()
{
    tests::ScratchDatabase scratch;
    const SyntheticText text{150'000};
    std::string body;
    std::vector<engine::EncodedToken> tokens;
    for (uint64_t token = 1; token <= 140'000; ++token) {
        const size_t begin = body.size();
        body += text.text(token);
        tokens.push_back({static_cast<engine::TokenId>(token), begin, body.size()});
    }
    storage::Import import(*scratch, "A title", "a.txt", "fingerprint");
    import.add_text(body);
    import.add_tokens(tokens);
    const int64_t document = import.finish({});
    TextOutline outline{.tokens = 140'003, .parts = {}, .headings = {}};
    outline.parts = {{.range = {0, 3}}, {.range = {3, 140'003}, .kind = PartKind::Document, .id = document}};
    const auto file = QString::fromStdString(scratch.file().string());
    TextSource source(outline, stored_pages(file, outline, {}));
    for (const size_t at : {size_t{0}, size_t{1}, size_t{1000}, size_t{65'535}, size_t{65'536}, size_t{139'999}}) {
        const uint64_t first = at < 2 ? at : at - 2;
        // If the first token has several bytes, the located range begins within it.
        const ByteRange bytes{tokens[first].begin, tokens[at].end};
        StreamRange found;
        const uint64_t inside = tokens[first].end - tokens[first].begin > 1 ? 1 : 0;
        QVERIFY(source.locate(document, {bytes.first + inside, bytes.last}, this,
                              [&](StreamRange range) { found = range; }));
        EVENTUALLY_EQUAL(found, (StreamRange{3 + first, 3 + at + 1}));
    }
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::TextSourceTest)
#include "text_source_test.moc"
