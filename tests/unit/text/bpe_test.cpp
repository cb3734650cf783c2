#include <algorithm>
#include <map>
#include <random>

#include "engine/text/bpe/added_tokens.h"
#include "engine/text/bpe/byte_alphabet.h"
#include "engine/text/bpe/merge_table.h"
#include "engine/text/bpe/pre_tokenizer.h"
#include "engine/text/bpe/pre_tokenizer_table.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace std::string_literals;

namespace {

std::vector<Symbol> symbols_of(const std::vector<TokenId>& ids)
{
    std::vector<Symbol> symbols;
    for (const TokenId id : ids)
        symbols.push_back({id, 1});
    return symbols;
}

std::vector<TokenId> ids_of(const std::vector<Symbol>& symbols)
{
    std::vector<TokenId> ids;
    for (const Symbol& symbol : symbols)
        ids.push_back(symbol.id);
    return ids;
}

// The definition: merges the leftmost pair of the best rank until no pair is left.
std::vector<TokenId> merged_by_definition(std::vector<TokenId> ids, const std::vector<PieceMerge>& merges)
{
    while (true) {
        size_t best = merges.size(), place = 0;
        for (size_t i = 0; i + 1 < ids.size(); ++i)
            for (size_t rank = 0; rank < best; ++rank)
                if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) best = rank, place = i;
        if (best == merges.size()) return ids;
        ids[place] = merges[best].result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
}

std::vector<std::string> pre_tokens(const PreTokenizer& pre_tokenizer, std::string_view text)
{
    std::vector<std::string> out;
    const auto workspace = pre_tokenizer.workspace();
    while (!text.empty()) {
        const size_t size = pre_tokenizer.next_segment(text, true, *workspace);
        std::vector<size_t> ends;
        pre_tokenizer.split(text.substr(0, size), *workspace, ends);
        size_t at = 0;
        for (const size_t end : ends) {
            out.emplace_back(text.substr(at, end - at));
            at = end;
        }
        REQUIRE(at == size);
        text.remove_prefix(size);
    }
    return out;
}

using Pieces = std::vector<std::string>;

} // namespace

TEST_CASE("merging few or many symbols gives the same ids as its definition")
{
    std::mt19937 random(3);
    const auto below = [&](size_t limit) { return static_cast<TokenId>(random() % limit); };
    for (int round = 0; round < 300; ++round) {
        std::vector<PieceMerge> merges;
        std::map<std::pair<TokenId, TokenId>, bool> known;
        TokenId next = 4;
        for (int i = 0; i < 12; ++i) {
            const TokenId left = below(static_cast<size_t>(next)), right = below(static_cast<size_t>(next));
            if (known.emplace(std::pair(left, right), true).second) merges.push_back({left, right, next++});
        }
        std::vector<TokenId> ids(1 + random() % 120);
        std::generate(ids.begin(), ids.end(), [&] { return below(4); });
        std::vector<Symbol> symbols = symbols_of(ids);
        MergeTable(merges).apply(symbols);
        CHECK(ids_of(symbols) == merged_by_definition(ids, merges));
        size_t bytes = 0;
        for (const Symbol& symbol : symbols)
            bytes += symbol.bytes;
        CHECK(bytes == ids.size());
    }
}

TEST_CASE("merging takes a number of steps that is linear in the number of symbols")
{
    // Runs of one letter: every round of merges halves the number of symbols.
    std::vector<PieceMerge> merges;
    for (TokenId id = 0; id < 12; ++id)
        merges.push_back({id, id, id + 1});
    const MergeTable table(merges);
    for (const size_t count : {size_t{1000}, size_t{65536}, size_t{1} << 20}) {
        std::vector<Symbol> symbols = symbols_of(std::vector<TokenId>(count, 0));
        const size_t steps = table.apply(symbols);
        INFO(count << " symbols, " << steps << " steps");
        CHECK(steps <= 6 * count);
        CHECK(symbols.size() <= count / 4096 + 13);
    }
}

TEST_CASE("the byte alphabet has a character for every byte")
{
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        std::string spelled;
        append_utf8(byte_character(static_cast<uint8_t>(byte)), spelled);
        CHECK(spelled_bytes(spelled) == std::string(1, static_cast<char>(byte)));
        all += spelled;
    }
    CHECK(spelled_bytes(all)->size() == 256);
    CHECK(spelled_bytes("\xC4\xA0the") == " the");
    CHECK_FALSE(spelled_bytes("\xE4\xB8\xAD"));
    CHECK_FALSE(spelled_bytes("a b"));
}

TEST_CASE("the longest added token at the leftmost place is found")
{
    AddedTokens tokens;
    tokens.add("<a>", 1);
    tokens.add("<a>>", 2);
    tokens.add("  ", 3);
    const auto find = [&](std::string_view text, bool complete = true) {
        const auto place = tokens.find(text, 0, complete);
        return std::tuple(place.begin, place.end, place.id);
    };
    CHECK(find("x<a>y") == std::tuple(1u, 4u, 1));
    CHECK(find("x<a>>y") == std::tuple(1u, 5u, 2));
    CHECK(find("x<a") == std::tuple(3u, 3u, -1));
    CHECK(find("x<a", false) == std::tuple(1u, 1u, -1));
    CHECK(find("x<a>", false) == std::tuple(1u, 1u, -1)); // "<a>>" may follow
    CHECK(find("x<b   ", false) == std::tuple(3u, 5u, 3));
    CHECK(find("none", false) == std::tuple(4u, 4u, -1));
}

TEST_CASE("added tokens whose spellings take too much memory are refused by name")
{
    AddedTokens tokens;
    const auto spelling = [](int i) { return std::to_string(10000 + i) + std::string(200, 'x'); };
    const auto add_all = [&] {
        for (int i = 0; i < 10000; ++i)
            tokens.add(spelling(i), i);
    };
    CHECK_THROWS_WITH(add_all(),
                      Catch::Contains("up to token 5") && Catch::Contains("have more than 1048576 bytes"));
    AddedTokens alike; // common prefixes count once
    for (int i = 0; i < 10000; ++i)
        alike.add(std::string(200, 'x') + std::to_string(i), i);
    CHECK(alike.find(std::string(200, 'x') + "777", 0, true).id == 777);
}

TEST_CASE("a failure of the regular expression library is an error, not the end of the matches")
{
    const PreTokenizerEntry limited{"limited", "(*NO_JIT)(*LIMIT_MATCH=1)(?:a|b)+?c", {}, {}};
    const PreTokenizer pre_tokenizer(limited);
    const auto workspace = pre_tokenizer.workspace();
    CHECK_THROWS_WITH(pre_tokenizer.next_segment("ababab-c", true, *workspace),
                      Catch::Contains("could not be matched (PCRE2 error -47)"));
}

TEST_CASE("pre-tokenizers split text as their model families do")
{
    CHECK(pre_tokens(PreTokenizer("gpt-2"), "I'll  go 12x!") == Pieces{"I", "'ll", " ", " go", " 12", "x", "!"});
    CHECK(pre_tokens(PreTokenizer("smollm"), "go  12 x") == Pieces{"go", "  ", "1", "2", " x"});
    CHECK(pre_tokens(PreTokenizer("llama3"), "I'LL go 1234\n\n x") ==
          Pieces{"I", "'LL", " go", " ", "123", "4", "\n\n", " x"});
    CHECK(pre_tokens(PreTokenizer("qwen2"), "a 12") == Pieces{"a", " ", "1", "2"});
    CHECK(pre_tokens(PreTokenizer("tekken"), "camelCase HTTP") == Pieces{"camel", "Case", " HTTP"});
    CHECK(pre_tokens(PreTokenizer("gpt-4o"), "it's") == Pieces{"it's"});
    CHECK(pre_tokens(PreTokenizer("deepseek-llm"), "Hi!\n\nyou  42") ==
          Pieces{"Hi", "!", "\n", "\n", "you", "  ", "42"});
    CHECK(pre_tokens(PreTokenizer("metaspace"), "a  bc") == Pieces{"a", " ", " bc"});
    // U+180E was white space in older versions of Unicode, U+3000 is in all.
    CHECK(pre_tokens(PreTokenizer("gpt-2"), "a\xE1\xA0\x8E\xE3\x80\x80"
                                            "b") == Pieces{"a", "\xE1\xA0\x8E", "\xE3\x80\x80", "b"});
}

TEST_CASE("a segment is returned only when more text cannot change it")
{
    const PreTokenizer llama3("llama3");
    const auto workspace = llama3.workspace();
    CHECK(llama3.next_segment("word", false, *workspace) == 0);
    CHECK(llama3.next_segment("word", true, *workspace) == 4);
    CHECK(llama3.next_segment("word ", false, *workspace) == 4);
    CHECK(llama3.next_segment("  ", false, *workspace) == 0);
    CHECK(llama3.next_segment("  x", false, *workspace) == 1);
    CHECK(llama3.next_segment("123", false, *workspace) == 3);
    CHECK(llama3.next_segment("12", false, *workspace) == 0);
}

TEST_CASE("the segments of every pre-tokenizer cover any text, and every GGUF name has a pre-tokenizer")
{
    std::mt19937 random(8);
    for (const PreTokenizerEntry& entry : pre_tokenizer_table()) {
        INFO(entry.name);
        const PreTokenizer pre_tokenizer(entry.name);
        for (int round = 0; round < 100; ++round) {
            std::string text;
            for (size_t size = random() % 40; size > 0; --size) {
                static const std::string parts[] = {"a",
                                                    "B",
                                                    " ",
                                                    "\n",
                                                    "\r\n",
                                                    "1",
                                                    "\xC2\xB2",
                                                    "!",
                                                    "'s",
                                                    "\xE4\xB8\xAD",
                                                    "\xCC\x81",
                                                    "\xE3\x80\x80",
                                                    "\xF0\x9F\x98\x80",
                                                    "\t",
                                                    "/",
                                                    "\xEF\xBC\x81"};
                text += parts[random() % std::size(parts)];
            }
            std::string joined;
            for (const std::string& piece : pre_tokens(pre_tokenizer, text)) {
                CHECK_FALSE(piece.empty());
                joined += piece;
            }
            CHECK(joined == text);
        }
        for (const auto& form : entry.published)
            CHECK(pre_tokenizer_with(PreTokenizerSteps(form.begin(), form.end())) == entry.name);
    }
    for (const GgufPreTokenizerEntry& entry : gguf_pre_tokenizer_table())
        CHECK_NOTHROW(PreTokenizer(entry.name));
    CHECK(gguf_pre_tokenizer("bert").name.empty());
    CHECK(gguf_pre_tokenizer("tekken").adds_bos);
    CHECK(gguf_pre_tokenizer("llama-bpe").adds_bos);
    CHECK_FALSE(gguf_pre_tokenizer("qwen2").adds_bos);
    CHECK(gguf_pre_tokenizer("kormo").name == "qwen2");
    CHECK(gguf_pre_tokenizer("f2llmv2").name == "qwen2");
    CHECK(gguf_pre_tokenizer("talkie").name == "gpt-4o");
    CHECK(gguf_pre_tokenizer("glm5").name == gguf_pre_tokenizer("glm4").name);
    CHECK(gguf_pre_tokenizer("glm5").ignore_merges);
    CHECK_THROWS_AS(PreTokenizer("bert"), Error);
    CHECK(pre_tokenizer_with({"[a-z]+"}).empty());
}
