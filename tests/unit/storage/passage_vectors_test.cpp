// Embeddings of passages: stored in eight bits, completed where they are missing, and compared with a question's.
#include "storage/passages/passage_vectors.h"

#include <cmath>
#include <map>
#include <random>

#include "engine/text/sentences.h"
#include "storage/passages/passage_search.h"
#include "storage/session/passage_encoder.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;

namespace {

constexpr size_t width = 48;

std::vector<float> unit_vectors(size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> all(count * width);
    for (size_t at = 0; at < all.size(); at += width) {
        float squares = 0;
        for (size_t i = 0; i < width; ++i) {
            all[at + i] = normal(random);
            squares += all[at + i] * all[at + i];
        }
        for (size_t i = 0; i < width; ++i)
            all[at + i] /= std::sqrt(squares);
    }
    return all;
}

double dot(const float* a, const float* b)
{
    double sum = 0;
    for (size_t i = 0; i < width; ++i)
        sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

std::map<int64_t, Similarity> compared(Database& database, int64_t document, const std::string& encoder,
                                       std::span<const float> question)
{
    std::map<int64_t, Similarity> all;
    PassageVectors(database).compare(std::vector<int64_t>{document}, encoder, question,
                                     [&](int64_t of, int64_t index, const Similarity& similarity) {
                                         CHECK(of == document);
                                         all[index] = similarity;
                                     });
    return all;
}

struct EncodedBook : BookSession {
    EncodedBook() { with_book(); }
    explicit EncodedBook(const std::string& text) : BookSession(text) { with_book(); }
    Database& database() { return store().database; }
    int64_t document() { return store().library.list().at(0).id; }
    PassageEncoder encoder{tests::source_file("tests/fixtures/encoder/bert"), nullptr};
};

} // namespace

TEST_CASE("similarities of stored embeddings are those of the exact ones, to a hundredth")
{
    BookSession book;
    book.with_book();
    Database& database = book.store().database;
    const int64_t document = book.store().library.list().at(0).id;
    const auto question = unit_vectors(1, 99);
    std::vector<std::vector<float>> passages;
    database.transaction([&] {
        for (size_t count = 1; count <= 6; ++count) {
            passages.push_back(unit_vectors(count, static_cast<unsigned>(count)));
            PassageVectors(database).append(document, "one", passages.back(), width);
        }
    });
    const auto found = compared(database, document, "one", question);
    REQUIRE(found.size() == 6);
    for (size_t p = 0; p < passages.size(); ++p) {
        double best = -1;
        std::vector<float> sum(width);
        for (size_t at = 0; at < passages[p].size(); at += width) {
            best = std::max(best, dot(&passages[p][at], question.data()));
            for (size_t i = 0; i < width; ++i)
                sum[i] += passages[p][at + i];
        }
        const Similarity& similarity = found.at(static_cast<int64_t>(p));
        CHECK(std::abs(similarity.best - best) < 0.01);
        CHECK(std::abs(similarity.mean -
                       dot(sum.data(), question.data()) / std::sqrt(dot(sum.data(), sum.data()))) < 0.01);
    }
}

TEST_CASE("after a change of the encoder its passages are encoded anew")
{
    EncodedBook book;
    PassageEncoder& encoder = book.encoder;
    const std::string_view text = "the light was kept by the warden of the sea";
    const auto before = encoder.encode({&text, 1});
    CHECK(encoder.encode(book.database(), book.document(), UINT64_MAX, {}));
    CHECK(encoder.missing(book.database(), book.document()) == 0);
    encoder.change(tests::source_file("tests/fixtures/encoder/change.safetensors"));
    const QuestionMeaning changed = encoder.meaning_of({text});
    CHECK(changed.encoder == encoder.identity());
    CHECK(changed.embedding != before);
    CHECK(changed.embedding == encoder.encode({&text, 1}));
    CHECK(encoder.missing(book.database(), book.document()) > 0);
    CHECK(encoder.encode(book.database(), book.document(), UINT64_MAX, {}));
    CHECK(encoder.missing(book.database(), book.document()) == 0);
}

TEST_CASE("embeddings of another encoder are not compared, and are replaced")
{
    BookSession book;
    book.with_book();
    Database& database = book.store().database;
    const int64_t document = book.store().library.list().at(0).id;
    PassageVectors vectors(database);
    const auto one = unit_vectors(1, 1);
    database.transaction([&] {
        vectors.append(document, "one", one, width);
        vectors.append(document, "one", one, width);
    });
    CHECK(vectors.count(document, "one") == 2);
    CHECK(vectors.count(document, "two") == 0);
    CHECK(compared(database, document, "two", one).empty());
    database.transaction([&] { vectors.append(document, "two", one, width); });
    CHECK(vectors.count(document, "one") == 0);
    CHECK(compared(database, document, "two", one).size() == 1);
}

TEST_CASE("a row of embeddings that is damaged counts as unlike everything")
{
    BookSession book;
    book.with_book();
    Database& database = book.store().database;
    const int64_t document = book.store().library.list().at(0).id;
    const auto one = unit_vectors(2, 1);
    database.transaction([&] { PassageVectors(database).append(document, "one", one, width); });
    for (const char* data : {"x''", "x'00'", "zeroblob(1000000)", "substr(data, 1, length(data) - 1)",
                             "x'0000C07F' || substr(data, 5)"}) { // the last: not a number
        INFO(data);
        database.sql().exec("SAVEPOINT before");
        database.sql().exec(std::string("UPDATE passage_vectors SET data = CAST(") + data + " AS BLOB)");
        CHECK(compared(database, document, "one", one).at(0).best <= 0);
        CHECK(std::isfinite(compared(database, document, "one", one).at(0).mean));
        if (std::string(data).find("7F") == std::string::npos) // that is the length of their sum
            CHECK(PassageVectors(database).windows(document, 0, "one", std::span(one).first(width)).empty());
        database.sql().exec("ROLLBACK TO before");
        database.sql().exec("RELEASE before");
    }
}

TEST_CASE("the windows of a passage are compared one by one")
{
    BookSession book;
    book.with_book();
    Database& database = book.store().database;
    const int64_t document = book.store().library.list().at(0).id;
    PassageVectors vectors(database);
    const auto windows = unit_vectors(3, 1), question = unit_vectors(1, 9);
    database.transaction([&] { vectors.append(document, "one", windows, width); });
    const auto cosines = vectors.windows(document, 0, "one", question);
    REQUIRE(cosines.size() == 3);
    for (size_t i = 0; i < 3; ++i)
        CHECK(std::abs(cosines[i] - dot(&windows[i * width], question.data())) < 0.01);
    CHECK(vectors.windows(document, 0, "two", question).empty());
    CHECK(vectors.windows(document, 1, "one", question).empty());
    CHECK(vectors.windows(document, 0, "one", {}).empty());
    database.sql().exec(
        "UPDATE passage_vectors SET data = CAST(substr(data, 1, 4) || x'0000C07F' || substr(data, 9) "
        "AS BLOB)"); // the scale of the first window is not a number
    CHECK(vectors.windows(document, 0, "one", question).empty());
}

TEST_CASE("passages are encoded as far as they were read, and the rest later")
{
    EncodedBook book;
    const auto passages = PassageIndex(book.database()).all(book.document());
    REQUIRE(passages.size() > 10);
    PassageVectors vectors(book.database());
    const auto encoded = [&] { return vectors.count(book.document(), book.encoder.identity()); };
    const int64_t half = std::ssize(passages) / 2;
    const uint64_t end = passages[static_cast<size_t>(half)].end_token - 1; // within a passage
    CHECK(book.encoder.missing(book.database(), book.document()) == std::ssize(passages));
    CHECK_FALSE(book.encoder.has_many(book.database(), book.document(), passages[2].end_token));
    CHECK(book.encoder.encode(book.database(), book.document(), end, {}));
    CHECK(encoded() == half);
    std::stop_source stopped;
    stopped.request_stop();
    CHECK_FALSE(book.encoder.encode(book.database(), book.document(), UINT64_MAX, stopped.get_token()));
    CHECK(encoded() == half);
    CHECK(book.encoder.encode(book.database(), book.document(), UINT64_MAX, {}));
    CHECK(encoded() == std::ssize(passages));
    CHECK(book.encoder.missing(book.database(), book.document()) == 0);

    // A passage is nearest to its own words.
    PassageIndex index(book.database());
    const std::string text = index.text(passages[7]);
    const auto windows = engine::sentence_windows(engine::sentences(text), 130);
    const auto question = book.encoder.meaning_of({windows.at(0).in(text)}).embedding;
    const auto found = compared(book.database(), book.document(), book.encoder.identity(), question);
    CHECK(found.at(7).best > 0.99);

    // An index that is built anew loses its embeddings.
    CHECK(index.build(book.document()));
    CHECK(encoded() == 0);
}

TEST_CASE("a search by meaning finds passages that share no word with the question")
{
    EncodedBook book;
    REQUIRE(book.encoder.encode(book.database(), book.document(), UINT64_MAX, {}));
    const std::vector<int64_t> documents = {book.document()};
    const std::string question = "xylophone";
    CHECK(search_passages(book.database(), {question}, documents).empty());
    const QuestionMeaning meaning{.encoder = book.encoder.identity(),
                                  .embedding = book.encoder.meaning_of({"the warden of the sea"}).embedding};
    const auto found = search_passages(book.database(), {question}, documents, 5, &meaning);
    REQUIRE(found.size() == 5);
    CHECK(
        std::is_sorted(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; }));
    const QuestionMeaning other{.encoder = "another", .embedding = meaning.embedding};
    CHECK(search_passages(book.database(), {question}, documents, 5, &other).empty());
}

TEST_CASE("passages with a name that hardly any has come first, whatever is nearer in meaning")
{
    std::string text;
    for (int i = 0; i < 12; ++i) {
        text += i == 4   ? "Tolvanna glimmered. "
                : i == 8 ? "The moon rose over the harbour wall. "
                : i % 3  ? ""
                         : "Ashford was quiet. ";
        for (int sentence = 0; sentence < 9; ++sentence)
            text += "The warden of the sea looked at the ships and counted them again. ";
        text += "\n\n";
    }
    EncodedBook book(text);
    REQUIRE(book.encoder.encode(book.database(), book.document(), UINT64_MAX, {}));
    const std::vector<int64_t> documents = {book.document()};
    const QuestionMeaning meaning{.encoder = book.encoder.identity(),
                                  .embedding =
                                      book.encoder.meaning_of({"The moon rose over the harbour wall."}).embedding};
    PassageIndex index(book.database());
    const auto first_has = [&](const std::string& question, const std::string& name) {
        const auto found = search_passages(book.database(), {question}, documents, 3, &meaning);
        return !found.empty() && index.text(found[0].passage).find(name) != std::string::npos;
    };
    CHECK(first_has("did the moon rise over the harbour wall of tolvanna?", "moon"));
    CHECK(first_has("did the moon rise over the harbour wall of Tolvanna?", "Tolvanna"));
    CHECK(first_has("did the moon rise over the harbour wall of Ashford?", "moon")); // which four passages have
    // A verb that the index would find in another form is no name, and a name that is said twice counts once.
    CHECK(first_has("Glimmer Ashford's moon, which rose over the harbour wall?", "moon"));
    const auto score_of = [&](const std::string& question) {
        return search_passages(book.database(), {question}, documents, 1, &meaning).at(0).score;
    };
    CHECK(score_of("Did Tolvanna, the Tolvanna of Tolvanna, sleep?") < score_of("Did Tolvanna sleep?") + 0.5);
}
