#include "storage/transcript/transcript_words.h"

#include <cmath>
#include <ctime>

#include "engine/policy/policy.h"
#include "engine/text/unicode/visible_text.h"
#include "kernels/base/byte_quantity.h"

namespace palimpsest::storage {
namespace {

std::string formatted(int64_t milliseconds, const char* pattern)
{
    const std::time_t seconds = milliseconds / 1000;
    std::tm fields{};
    gmtime_r(&seconds, &fields);
    char text[40];
    return std::string(text, std::strftime(text, sizeof text, pattern, &fields));
}

std::string joined(const std::vector<std::string>& texts, const char* separator)
{
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : separator) + engine::visible_line(text);
    return all;
}

} // namespace

std::string utc_minute(int64_t milliseconds)
{
    return formatted(milliseconds, "%Y-%m-%d %H:%M UTC");
}

std::string iso_time(int64_t milliseconds)
{
    return formatted(milliseconds, "%Y-%m-%dT%H:%M:%SZ");
}

std::vector<std::pair<Text, Text>> session_words(const Transcript& transcript)
{
    const auto verbatim = [](const std::string& text) { return Text::verbatim(engine::visible_line(text)); };
    std::vector<std::pair<Text, Text>> words{{Text("Model"), verbatim(transcript.model)}};
    if (!transcript.policy.empty()) words.emplace_back(Text("Policy"), verbatim(transcript.policy));
    if (!transcript.budget.empty()) words.emplace_back(Text("Budget"), verbatim(transcript.budget));
    words.emplace_back(Text("Begun"), Text::verbatim(utc_minute(transcript.created_ms)));
    words.emplace_back(Text("Last used"), Text::verbatim(utc_minute(transcript.changed_ms)));
    if (!transcript.system.empty()) words.emplace_back(Text("System prompt"), verbatim(transcript.system));
    if (!transcript.question.empty())
        words.emplace_back(Text("Read with the question"), verbatim(transcript.question));
    return words;
}

Text document_words(const TranscriptDocument& document)
{
    const std::string title = engine::visible_line(document.title), tokens = format_count(document.tokens);
    const Text size = document.format.empty()
                          ? Text("{0} tokens", tokens)
                          : Text("{0}, {1} tokens", engine::visible_line(document.format), tokens);
    return document.author.empty() ? Text("{0} ({1})", title, size)
                                   : Text("{0}, by {1} ({2})", title, engine::visible_line(document.author), size);
}

Text role_words(Role role)
{
    return role == Role::User ? Text("Question") : Text("Answer");
}

std::optional<Text> state_words(const TranscriptMessage& message)
{
    if (message.is_damaged) return Text("damaged: this text is not what was stored");
    if (message.is_replaced) return Text("replaced by a later one");
    switch (message.state) {
    case MessageState::Stopped:
    case MessageState::Growing:
        return Text("stopped: it is not complete");
    case MessageState::Cut:
        return Text("cut at the length limit: it is not complete");
    case MessageState::Complete:
        break;
    }
    return std::nullopt;
}

std::optional<Text> reading_words(const TranscriptMessage& message)
{
    if (message.tokens_in_input == 0) return std::nullopt;
    const std::string read = format_count(message.tokens_read), all = format_count(message.tokens_in_input);
    if (message.budget <= 0 || message.budget == engine::no_budget)
        return Text("{0} of {1} tokens of the documents read", read, all);
    return Text("{0} of {1} tokens of the documents read, with a budget of {2}", read, all,
                format_count(static_cast<uint64_t>(message.budget)));
}

Text place_words(const TranscriptPlace& place)
{
    std::string name = engine::visible_line(place.document);
    if (!place.section_path.empty()) name += ", " + joined(place.section_path, " › ");
    if (place.pages.empty()) return Text::verbatim(name);
    const auto& [first, last] = place.pages;
    return Text("{0}, {1}", name, page_words({engine::visible_line(first), engine::visible_line(last)}));
}

Text source_words(const TranscriptSource& source)
{
    const auto percent = static_cast<int64_t>(std::lround(100 * source.weight));
    return source.read_again ? Text("{0}: {1}% of the attention, read again", place_words(source.place), percent)
                             : Text("{0}: {1}% of the attention", place_words(source.place), percent);
}

std::optional<Text> unsupported_words(const TranscriptQuote& quote)
{
    if (quote.unsupported.empty()) return std::nullopt;
    return Text("Not in the passages that were found: {0}", joined(quote.unsupported, ", "));
}

} // namespace palimpsest::storage
