// Transcripts hold what was said and what it rests on, and nothing of a message works as markup.
#include "storage/transcript/transcript.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "storage/transcript/transcript_format.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;
using palimpsest::tests::say;

namespace {

class English final : public Wording {
public:
    std::string pattern(std::string_view english) const override { return std::string(english); }
    std::string setting(Setting) const override { return {}; }
    std::string step(Step) const override { return {}; }
};

std::string written(const Transcript& transcript, TranscriptFormat format)
{
    std::ostringstream out;
    write_transcript(transcript, format, English(), out);
    return out.str();
}

Transcript saying(const std::string& text)
{
    return {.name = text,
            .model = text,
            .policy = text,
            .documents = {{text, text, text, 3}},
            .messages = {{.text = text,
                          .sources = {{.place = {text, {text}, {text, text}}, .weight = 1}},
                          .quote = TranscriptQuote{text, {text, {text}, {text, text}}, {text}}}}};
}

} // namespace

TEST_CASE("no text of a session adds markup to a page")
{
    const std::string plain = written(saying("x"), TranscriptFormat::Html);
    const std::string foreign =
        written(saying("</div><script>\"'&]]><img src=x onerror=y>"), TranscriptFormat::Html);
    for (const char mark : {'<', '>', '"', '\''})
        CHECK(std::count(foreign.begin(), foreign.end(), mark) == std::count(plain.begin(), plain.end(), mark));
}

TEST_CASE("no text of a session adds HTML or links to Markdown")
{
    const std::string text = written(saying("\\<b> \\\\[a](javascript:b) &lt; <c>"), TranscriptFormat::Markdown);
    for (size_t i = 0; i < text.size(); ++i) {
        if (std::string_view("<[&").find(text[i]) == std::string_view::npos) continue;
        size_t backslashes = 0;
        while (backslashes < i && text[i - 1 - backslashes] == '\\')
            ++backslashes;
        CHECK(backslashes % 2 == 1);
    }
}

TEST_CASE("a message that leaves a code block open stays in its block quote")
{
    Transcript transcript;
    transcript.messages.push_back({.text = "```\ncode\n# heading"});
    CHECK(written(transcript, TranscriptFormat::Markdown).find("> ```\n> code\n> # heading\n\n") !=
          std::string::npos);
}

TEST_CASE("characters that hide or turn text are escaped in every format")
{
    const std::string turned = "a\u202Eb";
    for (const auto format : {TranscriptFormat::Markdown, TranscriptFormat::Html, TranscriptFormat::Json})
        CHECK(written(saying(turned), format).find("\u202E") == std::string::npos);
    const auto json = nlohmann::json::parse(written(saying(turned), TranscriptFormat::Json));
    CHECK(json["messages"][0]["text"] == turned);
}

TEST_CASE("the format follows the ending of a file's name")
{
    CHECK(transcript_format_of("a/B.HTML") == TranscriptFormat::Html);
    CHECK(transcript_format_of("b.md") == TranscriptFormat::Markdown);
    CHECK(transcript_format_of("b.json") == TranscriptFormat::Json);
    CHECK_FALSE(transcript_format_of("html"));
}

TEST_CASE("a transcript has the messages of a session with what is known of them")
{
    BookSession book;
    StoredSession& session = book.with_book();
    say(session, "Who kept the light?");
    const std::vector<Message> messages = book.store().conversations.messages(session.id());
    const auto stream = book.store().conversations.stream(session.id());
    uint64_t begin = 0;
    for (const StreamPart& part : stream) {
        if (document_in(part)) break;
        begin += tokens_of(part);
    }
    Provenances(book.store().database)
        .put(messages.back().id,
             {.tokens_in_input = 40,
              .tokens_read = 30,
              .budget = 24,
              .sources = {{.range = {begin, begin + 4}, .weight = 0.75, .held = 1}},
              .quote =
                  QuotedSentence{.text = "It was kept.", .range = {begin, begin + 4}, .pages = {"xii", "xiv"}}});
    const Transcript transcript = Transcript::of(book.store(), book.store().conversations.get("book"));
    REQUIRE(transcript.documents.size() == 1);
    REQUIRE(transcript.messages.size() == messages.size());
    CHECK(transcript.budget == "64");
    CHECK(transcript.messages[0].text == "Who kept the light?");
    const TranscriptMessage& answer = transcript.messages.back();
    CHECK(answer.role == Role::Assistant);
    CHECK_FALSE(answer.is_replaced);
    CHECK(answer.tokens_read == 30);
    REQUIRE(answer.sources.size() == 1);
    CHECK(answer.sources[0].place.document == transcript.documents[0].title);
    REQUIRE(answer.quote);
    CHECK(answer.quote->place.pages == PageRange{"xii", "xiv"});
}
