// Encoding of text to pieces, and the source range of each piece.
#include "engine/text/bpe/bpe_encoder.h"

#include "engine/text/bpe/byte_alphabet.h"
#include "engine/text/tokenizer.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr int32_t normal = 1, control = 3, user_defined = 4;

std::string spelled(std::string_view bytes)
{
    std::string out;
    for (const char byte : bytes)
        append_utf8(byte_character(static_cast<uint8_t>(byte)), out);
    return out;
}

// Every byte is a piece whose id is its value.
Vocabulary byte_vocabulary()
{
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::Bpe;
    vocabulary.add_space_prefix = false;
    vocabulary.pre_tokenizer = "gpt-2";
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.pieces.push_back(spelled(std::string(1, static_cast<char>(byte))));
    vocabulary.types.assign(256, normal);
    return vocabulary;
}

TokenId add(Vocabulary& vocabulary, const std::string& piece, int32_t type)
{
    vocabulary.pieces.push_back(piece);
    vocabulary.types.push_back(type);
    return static_cast<TokenId>(vocabulary.pieces.size()) - 1;
}

using Ids = std::vector<TokenId>;
using Ends = std::vector<uint64_t>;

Ends ends_of(const Tokenizer& tokenizer, std::string_view text)
{
    std::vector<EncodedToken> tokens;
    CHECK(tokenizer.encode_prefix(text, true, true, 0, tokens) == text.size());
    Ends ends;
    uint64_t at = 0;
    for (const EncodedToken& token : tokens) {
        CHECK(token.begin == at);
        ends.push_back(at = token.end);
    }
    return ends;
}

} // namespace

TEST_CASE("a tag such as <s> is text or control, whichever the file says")
{
    Vocabulary vocabulary = byte_vocabulary();
    for (const char* tag : {"<s>", "</s>", "<pad>", "<unk>"}) {
        const TokenId as_text = add(vocabulary, tag, user_defined);
        const Tokenizer tokenizer(vocabulary);
        CHECK_FALSE(tokenizer.is_control(as_text));
        CHECK(tokenizer.encode("a" + std::string(tag), true) == Ids{'a', as_text});
        CHECK_FALSE(tokenizer.is_end(as_text));
        vocabulary.types.back() = control;
        const Tokenizer other(vocabulary);
        CHECK(other.is_control(as_text));
        CHECK(other.encode(tag, true).size() == std::string(tag).size());
        CHECK(other.is_end(as_text) == (std::string(tag) == "</s>"));
    }
    const TokenId marker = add(vocabulary, "<|im_end|>", user_defined);
    CHECK(Tokenizer(vocabulary).is_control(marker));
    CHECK(Tokenizer(vocabulary).is_end(marker));
    vocabulary.types[256 + 1] = user_defined;
    vocabulary.eos = 256 + 1;
    CHECK(Tokenizer(vocabulary).is_end(vocabulary.eos));
}

TEST_CASE("if BOS is added to every text, merges in a text never produce it")
{
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.bos = add(vocabulary, "ab", normal);
    vocabulary.merges = {{'a', 'b', vocabulary.bos}};
    CHECK(Tokenizer(vocabulary).encode("ab", true) == Ids{vocabulary.bos});
    vocabulary.add_bos = true;
    const Tokenizer tokenizer(vocabulary);
    CHECK(tokenizer.is_control(vocabulary.bos));
    CHECK(tokenizer.encode("ab", true) == Ids{'a', 'b'});

    vocabulary.bos = 'a';
    CHECK_THROWS_WITH(Tokenizer(vocabulary), Catch::Contains("which begins every text, is a character"));
}

TEST_CASE("bytes that the vocabulary cannot spell belong to the token beside them")
{
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.types['z'] = 5; // unused
    const Tokenizer tokenizer(vocabulary);
    CHECK(tokenizer.encode("za bzb", true) == Ids{'a', ' ', 'b', 'b'});
    CHECK(ends_of(tokenizer, "za bzb") == Ends{2, 3, 5, 6});
    CHECK(ends_of(tokenizer, "zza!z!") == Ends{3, 4, 6});
}

TEST_CASE("no text is encoded to a piece with characters outside of the byte alphabet")
{
    Vocabulary vocabulary = byte_vocabulary();
    vocabulary.ignore_merges = true;
    const TokenId raw = add(vocabulary, "\xE4\xB8\xAD", normal), space = add(vocabulary, "a b", normal);
    CHECK(Tokenizer(vocabulary).encode("\xE4\xB8\xAD", true) == Ids{0xE4, 0xB8, 0xAD});
    CHECK(Tokenizer(vocabulary).piece(raw) == "\xE4\xB8\xAD");
    CHECK(Tokenizer(vocabulary).surface(space) == "a b");
    const TokenId whole = add(vocabulary, spelled("\xE4\xB8\xAD"), normal);
    CHECK(Tokenizer(vocabulary).encode("\xE4\xB8\xAD", true) == Ids{whole});
}

TEST_CASE("an added token includes the white space after it if the file says so, wherever the text is cut")
{
    Vocabulary vocabulary = byte_vocabulary();
    const TokenId tag = add(vocabulary, "</s>", type_with_space_after);
    const Tokenizer tokenizer(vocabulary);
    const std::string text = "a</s> \n\xC2\xA0\xE3\x80\x80 b</s></s>  ";
    CHECK(tokenizer.encode(text, true) == Ids{'a', tag, 'b', tag, tag});
    CHECK(ends_of(tokenizer, text) == Ends{1, 13, 14, 18, text.size()});
    for (size_t step = 1; step < text.size(); ++step) {
        std::vector<EncodedToken> tokens;
        size_t done = 0;
        for (size_t end = step; done < text.size(); end += step) {
            const std::string_view known = std::string_view(text).substr(done, std::min(end, text.size()) - done);
            done += tokenizer.encode_prefix(known, done == 0, end >= text.size(), done, tokens);
        }
        INFO("pieces of " << step << " bytes");
        REQUIRE(tokens.size() == 5);
        CHECK(tokens[1].end == 13);
        CHECK(tokens[4].end == text.size());
    }
    // White space beyond longest_stretch is cut there, which bounds the text that the encoder holds back.
    std::vector<EncodedToken> tokens;
    const std::string run = "</s>" + std::string(longest_stretch + 100, ' ');
    CHECK(tokenizer.encode_prefix(run, true, false, 0, tokens) >= longest_stretch);
    CHECK(tokens.front().end == 4 + longest_stretch);
}
