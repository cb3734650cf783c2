// Passages of a document: where they are cut, and that they cover it.

#include "engine/text/passage_cutter.h"

#include <algorithm>
#include <random>

#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

struct Document {
    std::string text{};
    std::vector<uint64_t> headings{};   // bytes
    std::vector<uint64_t> token_ends{}; // bytes
};

// A token is a word with the white space before it, as in most vocabularies; longer ones are cut after 8 bytes.
std::vector<uint64_t> word_tokens(const std::string& text)
{
    std::vector<uint64_t> ends;
    uint64_t begin = 0;
    for (uint64_t i = 1; i < text.size(); ++i) {
        const bool ends_word = text[i] == ' ' || (text[i] == '\n' && text[i - 1] != '\n');
        if (ends_word || i - begin == 8) ends.push_back(begin = i);
    }
    if (!text.empty()) ends.push_back(text.size());
    return ends;
}

Document document(std::string text, std::vector<uint64_t> headings = {})
{
    auto ends = word_tokens(text);
    return {std::move(text), std::move(headings), std::move(ends)};
}

// Pushes everything at once or, with `random`, in pieces of random sizes.
std::vector<Passage> passages(const Document& of, std::mt19937* random = nullptr)
{
    PassageCutter cutter(of.headings);
    std::vector<Passage> all;
    size_t token = 0;
    for (size_t at = 0; at < of.text.size();) {
        const size_t size = random ? 1 + (*random)() % 700 : of.text.size();
        cutter.push(std::string_view(of.text).substr(at, size));
        at += size;
        size_t ready = token;
        while (ready < of.token_ends.size() && of.token_ends[ready] <= at)
            ++ready;
        if (random && ready > token) ready -= (*random)() % (ready - token); // tokens lag behind
        cutter.push(std::span(of.token_ends).subspan(token, ready - token));
        token = ready;
        for (Passage& passage : cutter.take())
            all.push_back(std::move(passage));
    }
    cutter.push(std::span(of.token_ends).subspan(token));
    cutter.finish();
    for (Passage& passage : cutter.take())
        all.push_back(std::move(passage));
    return all;
}

std::string words(int count, const std::string& word = "word")
{
    std::string text;
    for (int i = 0; i < count; ++i)
        text += (i > 0 ? " " : "") + word;
    return text;
}

std::vector<uint64_t> sizes(const std::vector<Passage>& all)
{
    std::vector<uint64_t> tokens;
    for (const Passage& passage : all)
        tokens.push_back(passage.end_token - passage.first_token);
    return tokens;
}

using Sizes = std::vector<uint64_t>;

// Paragraphs, sentences, headings and long words without any boundary, at random.
Document random_document(std::mt19937& random)
{
    Document made;
    const int parts = static_cast<int>(random() % 30);
    for (int i = 0; i < parts; ++i) {
        const auto kind = random() % 10;
        if (kind == 0) {
            made.headings.push_back(made.text.size());
            made.text += "Heading";
        } else if (kind == 1) {
            made.text += std::string(1 + random() % 4000, 'x');
        } else {
            const int count = 1 + static_cast<int>(random() % (kind < 5 ? 30 : 400));
            for (int w = 0; w < count; ++w)
                made.text += (random() % 9 == 0    ? "End. Begin"
                              : random() % 40 == 0 ? "\u00E9\u3002\u4E2D"
                                                   : "word") +
                             std::string(w + 1 < count ? " " : "");
        }
        made.text += random() % 4 == 0 ? "\n" : "\n\n";
    }
    made.token_ends = word_tokens(made.text);
    return made;
}

} // namespace

TEST_CASE("short paragraphs are joined until a passage has 80 tokens")
{
    CHECK(sizes(passages(document(words(50) + "\n\n" + words(29) + "\n\n" + words(10) + "\n\n" + words(90)))) ==
          Sizes{89, 90});
    CHECK(sizes(passages(document(words(80) + "\n\n" + words(81)))) == Sizes{80, 81});
    CHECK(sizes(passages(document(words(30)))) == Sizes{30});
    CHECK(passages(document("")).empty());
}

TEST_CASE("a line end alone does not end a paragraph")
{
    CHECK(sizes(passages(document(words(100) + "\n" + words(100)))) == Sizes{200});
    CHECK(sizes(passages(document(words(100) + "\n \n" + words(100)))) ==
          Sizes{102, 100}); // a blank line with a space
}

TEST_CASE("a heading begins a passage, and none extends beyond the next")
{
    const std::string first = "One\n\n" + words(20) + "\n\n", second = "Two\n\n" + words(99);
    const auto all = passages(document("Preface.\n\n" + first + second, {10, 10 + first.size()}));
    REQUIRE(all.size() == 3);
    CHECK(all[0].section == -1);
    CHECK(all[1].section == 0);
    CHECK(all[1].text.substr(0, 5) == "\n\nOne"); // the line ends belong to the token
    CHECK(all[2].section == 1);
    CHECK(all[2].text.substr(2) == second);
    CHECK(passages(document("Title\n\ntext", {0})).front().section == 0);
}

TEST_CASE("headings that follow each other begin one passage, which belongs to the last")
{
    const std::string text = "Part One\n\nChapter I\n\n" + words(20);
    const auto all = passages(document(text + "\n\nChapter II\n\n" + words(9), {0, 10, text.size() + 2}));
    REQUIRE(all.size() == 2);
    CHECK(all[0].section == 1);
    CHECK(all[0].text == text);
    CHECK(all[1].section == 2);
}

TEST_CASE("tokens without text are part of a passage, and make none of their own")
{
    Document made{"Title\n\nOne two.", {0}, {0, 0, 5, 7, 10, 10, 15}};
    const auto all = passages(made);
    REQUIRE(all.size() == 1);
    CHECK(all[0].section == 0);
    CHECK(all[0].end_token == 7);
    CHECK(sizes(passages(document(" \n \n\n "))).size() == 1);
}

TEST_CASE("the end of a sentence may be closed by quotation marks and brackets, and needs a mark of its own")
{
    const auto cut_after = [](const std::string& end) {
        return sizes(passages(document(words(99) + " " + end + " Next " + words(300)))).front();
    };
    for (const std::string end : {"it.", "it!", "it?", "it\u2026", "it.\"", "it.'", "it.)", "it.]", "it.\u201D",
                                  "it.\u2019)", "it.\u00BB", "it!\"", "it\u061F"})
        CHECK(cut_after(end) == 100);
    for (const std::string end :
         {"it", "it,", "it.x", "\u0434\u043E\u043A\u0442\u043E\u0440", "\u00E6", "it:", "\"it\""})
        CHECK(cut_after(end) == 240);
}

TEST_CASE("the time to cut a document grows with its length only")
{
    // Ten megabytes, pushed as stored: with a cost per token that grows with the text ahead, this takes minutes.
    const std::string text = words(2'000'000, "a b.c");
    PassageCutter cutter({});
    cutter.push(text);
    cutter.push(word_tokens(text));
    cutter.finish();
    CHECK(cutter.take().size() > 10'000);
}

TEST_CASE("a long paragraph is cut at the last end of a sentence that fits")
{
    const std::string sentence = words(59) + " end.", quoted = words(59) + " end.\"";
    CHECK(sizes(passages(document(sentence + " " + sentence + " " + sentence + " " + sentence + " " + sentence))) ==
          Sizes{240, 60});
    CHECK(sizes(passages(document(quoted + " \"" + quoted + " Then " + words(300)))) == Sizes{120, 240, 61});
    // A sentence that ends too early does not count, and small letters begin no sentence.
    CHECK(sizes(passages(document(words(60) + ". B " + words(30) + " e.g. such " + words(400)))) ==
          Sizes{240, 240, 13});
}

TEST_CASE("a word without end is cut between characters")
{
    CHECK(sizes(passages(document(std::string(8 * 1000, 'x')))) == Sizes{240, 240, 240, 240, 40});
    std::string wide = "a";
    for (int i = 0; i < 3000; ++i)
        wide += "\u4E2D"; // three bytes, so that most tokens end within a character
    for (const Passage& passage : passages(document(wide)))
        CHECK((static_cast<unsigned char>(passage.text[0]) & 0xC0) != 0x80);
    Document sentences; // a token per character
    for (int i = 0; i < 300; ++i)
        for (const char* character : {"\u4E2D", "\u4E2D", "\u4E2D", "\u4E2D", "\u4E2D", "\u3002",
                                      "\u300D"}) { // a closing bracket behind the stop
            sentences.text += character;
            sentences.token_ends.push_back(sentences.text.size());
        }
    const auto cut = passages(sentences);
    CHECK(cut.size() == 9);
    for (const Passage& passage : cut)
        CHECK(passage.text.ends_with("\u3002\u300D"));
}

TEST_CASE("passages cover a document in order, within their limits, however it is divided")
{
    std::mt19937 random(18);
    for (int round = 0; round < 300; ++round) {
        const Document made = random_document(random);
        const auto all = passages(made);
        INFO("round " << round);
        uint64_t token = 0, byte = 0;
        std::string text;
        for (size_t i = 0; i < all.size(); ++i) {
            const Passage& passage = all[i];
            REQUIRE(passage.first_token == token);
            REQUIRE(passage.first_byte == byte);
            token = passage.end_token, byte = passage.end_byte, text += passage.text;
            REQUIRE(passage.end_byte == made.token_ends[passage.end_token - 1]);
            REQUIRE(token - passage.first_token <= PassageCutter::max_tokens);
            const bool is_last = i + 1 == all.size() || all[i + 1].section != passage.section;
            if (!is_last) REQUIRE(token - passage.first_token >= PassageCutter::min_tokens);
            // Its section is that of the last heading in it or, without one, before it; text stands behind headings
            // only.
            const auto begun = [&](uint64_t end) {
                return std::count_if(made.headings.begin(), made.headings.end(),
                                     [&](uint64_t heading) { return heading < end; });
            };
            REQUIRE(passage.section == begun(passage.end_byte) - 1);
            const auto inside = begun(passage.end_byte) - begun(made.token_ends[passage.first_token]);
            if (inside > 0) {
                const uint64_t last = made.headings[static_cast<size_t>(passage.section)];
                REQUIRE(made.text.substr(passage.first_byte, last - passage.first_byte).find("word") ==
                        std::string::npos);
            }
        }
        REQUIRE(token == made.token_ends.size());
        REQUIRE(text == made.text);
        const auto divided = passages(made, &random);
        REQUIRE(sizes(divided) == sizes(all));
        for (size_t i = 0; i < all.size(); ++i)
            REQUIRE(divided[i].text == all[i].text);
    }
}
