#include "storage/reader/frame.h"

#include <vector>

#include "tests/support/catch.h"

namespace palimpsest::tests {

using namespace palimpsest::storage;

namespace {

std::vector<ReaderFrame> one_of_each()
{
    return {ReaderHello{.format = "EPUB"},
            ReaderFact{DocumentFact::Author, "Ada Brennan"},
            ReaderText{"The harbour of Vell.\n\n"},
            ReaderHeading{2, "The Harbour"},
            ReaderPage{"xii"},
            ReaderNote{Text("{0} pages are pictures", 3)},
            ReaderProgress{3, 12},
            ReaderEnd{22},
            ReaderProblem{DocumentProblem::Protected, Text("it is protected"), Text("save a copy")}};
}

std::string all_encoded()
{
    std::string bytes;
    for (const ReaderFrame& frame : one_of_each())
        bytes += encoded(frame);
    return bytes;
}

// What is decoded until the end or the first error.
std::vector<ReaderFrame> decoded(std::string_view bytes, size_t at_once)
{
    std::vector<ReaderFrame> frames;
    FrameDecoder decoder;
    while (!bytes.empty()) {
        decoder.push(bytes.substr(0, at_once));
        bytes.remove_prefix(std::min(at_once, bytes.size()));
        while (auto frame = decoder.next())
            frames.push_back(*std::move(frame));
    }
    CHECK(decoder.is_between_messages());
    return frames;
}

std::string message(char kind, const std::string& payload)
{
    std::string bytes(1, kind);
    for (int i = 0; i < 4; ++i)
        bytes += static_cast<char>(payload.size() >> (8 * i) & 0xFF);
    return bytes + payload;
}

void refuses(const std::string& bytes)
{
    FrameDecoder decoder;
    decoder.push(bytes);
    CHECK_THROWS_AS(decoder.next(), FrameError);
}

} // namespace

TEST_CASE("every message is read as it was written, however it is cut")
{
    for (const size_t at_once : {1, 2, 5, 7, 1000})
        CHECK(decoded(all_encoded(), at_once) == one_of_each());
}

TEST_CASE("a message that breaks a rule is refused")
{
    const std::string title_of_two = std::string("\2\0\0\0", 4);
    refuses(message(9, ""));                                         // no such kind
    refuses(message(0, "palr"));                                     // no greeting
    refuses(message(1, "\3" + title_of_two + "ab"));                 // no such fact
    refuses(message(2, ""));                                         // a text of nothing
    refuses(message(2, "\xFF"));                                     // no UTF-8
    refuses(message(2, "\xE2\x82"));                                 // half a character
    refuses(message(2, std::string("a\0b", 3)));                     // NUL
    refuses(message(3, std::string(1, '\0') + title_of_two + "ab")); // level 0
    refuses(message(3, "\x0A" + title_of_two + "ab"));               // level 10
    refuses(message(3, "\1" + title_of_two + "a"));                  // a string longer than the message
    refuses(message(3, "\1" + title_of_two + "abc"));                // and shorter
    refuses(message(4, title_of_two + "a\x1B"));                     // a control character in a title
    refuses(message(6, std::string(7, '\1')));                       // half of its numbers
    refuses(message(6, "\2" + std::string(7, '\0') + "\1" + std::string(7, '\0'))); // more done than there is
    refuses(std::string("\2\xFF\xFF\xFF\x7F", 5)); // a length of 2 GiB, before anything follows
    refuses(encoded(ReaderNote{Text("{0}", std::string("\x1B[31m"))})); // a sentence that a terminal obeys
}

TEST_CASE("texts and titles have their limits")
{
    CHECK(decoded(encoded(ReaderText{std::string(longest_reader_text, 'a')}), 4096).size() == 1);
    CHECK(decoded(encoded(ReaderPage{std::string(longest_reader_title, 'a')}), 4096).size() == 1);
    refuses(encoded(ReaderText{std::string(longest_reader_text + 1, 'a')}));
    refuses(encoded(ReaderPage{std::string(longest_reader_title + 1, 'a')}));
}

TEST_CASE("no change of a byte does more than change or end the messages")
{
    const std::string bytes = all_encoded();
    size_t refused = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
        for (const int change : {1, 0x80, 0xFF}) {
            std::string changed = bytes;
            changed[i] = static_cast<char>(changed[i] ^ change);
            FrameDecoder decoder;
            decoder.push(changed);
            try {
                size_t frames = 0;
                while (decoder.next())
                    ++frames;
                CHECK(frames <= one_of_each().size());
            } catch (const FrameError&) {
                ++refused;
            }
        }
    CHECK(refused > bytes.size()); // most changes
}

} // namespace palimpsest::tests
