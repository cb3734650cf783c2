#include <nlohmann/json.hpp>

#include "kernels/base/printable.h"
#include "storage/transcript/transcript_format.h"
#include "storage/transcript/transcript_words.h"

namespace palimpsest::storage {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const std::string& text)
{
    return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json place_json(const TranscriptPlace& place)
{
    return {{"document", place.document},
            {"section_path", place.section_path},
            {"page", or_null(place.pages.first)},
            {"last_page", or_null(place.pages.last)}};
}

ordered_json quote_json(const TranscriptQuote& quote)
{
    ordered_json json{{"text", quote.text}};
    json.update(place_json(quote.place));
    json["unsupported"] = quote.unsupported;
    return json;
}

const char* state_name_of(const TranscriptMessage& message)
{
    if (message.is_damaged) return "damaged";
    switch (message.state) {
    case MessageState::Growing:
        return "growing";
    case MessageState::Stopped:
        return "stopped";
    case MessageState::Cut:
        return "cut";
    case MessageState::Complete:
        break;
    }
    return "complete";
}

ordered_json message_json(const TranscriptMessage& message)
{
    ordered_json sources = ordered_json::array();
    for (const TranscriptSource& source : message.sources) {
        sources.push_back(place_json(source.place));
        sources.back().update({{"weight", source.weight}, {"read_again", source.read_again}});
    }
    ordered_json json{{"role", message.role == Role::User ? "user" : "assistant"},
                      {"state", state_name_of(message)},
                      {"replaced", message.is_replaced},
                      {"time", iso_time(message.created_ms)},
                      {"text", message.text},
                      {"sources", sources},
                      {"quote", message.quote ? quote_json(*message.quote) : ordered_json()},
                      {"coverage", nullptr}};
    if (message.tokens_in_input > 0)
        json["coverage"] = {{"tokens_in_input", message.tokens_in_input},
                            {"tokens_read", message.tokens_read},
                            {"budget", message.budget}};
    return json;
}

// Escapes the characters that change the direction of text, which can stand within strings only. The strings keep
// their values.
std::string without_directions(const std::string& json)
{
    std::string out;
    for (size_t i = 0; i < json.size(); ++i) {
        const std::string_view character = std::string_view(json).substr(i, 3);
        if (character.size() < 3 || character[0] != '\xE2' || is_printable(character)) {
            out += json[i];
            continue;
        }
        const int code = 0x2000 | (character[1] & 0x3F) << 6 | (character[2] & 0x3F);
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(code));
        out += escape;
        i += 2;
    }
    return out;
}

} // namespace

void write_json_transcript(const Transcript& transcript, std::ostream& out)
{
    ordered_json documents = ordered_json::array(), messages = ordered_json::array();
    for (const TranscriptDocument& document : transcript.documents)
        documents.push_back({{"title", document.title},
                             {"format", or_null(document.format)},
                             {"author", or_null(document.author)},
                             {"tokens", document.tokens}});
    for (const TranscriptMessage& message : transcript.messages)
        messages.push_back(message_json(message));
    const ordered_json all{{"schema", "palimpsest.transcript/1"},
                           {"name", transcript.name},
                           {"model", transcript.model},
                           {"policy", or_null(transcript.policy)},
                           {"budget", or_null(transcript.budget)},
                           {"created", iso_time(transcript.created_ms)},
                           {"changed", iso_time(transcript.changed_ms)},
                           {"question", or_null(transcript.question)},
                           {"system", or_null(transcript.system)},
                           {"documents", documents},
                           {"messages", messages}};
    out << without_directions(all.dump(2, ' ', false, ordered_json::error_handler_t::replace)) << '\n';
}

} // namespace palimpsest::storage
