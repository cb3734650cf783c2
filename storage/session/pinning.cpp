#include "storage/session/pinning.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "engine/session/cache_bytes.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/list_lengths.h"
#include "storage/session/reading.h"

namespace palimpsest::storage {
namespace {

using engine::TokenRange;

constexpr std::string_view passage_mark = "text:";

[[noreturn]] void refuse(const Text& what)
{
    throw Error(ErrorKind::Usage, ErrorCode::InvalidPin, Text(Setting::Pin), what,
                Text("give token numbers such as 0-99,150 or a passage of the text"));
}

[[noreturn]] void refuse_list(const std::string& text)
{
    refuse(Text("'{0}' is no list of token numbers", printable(text)));
}

std::vector<TokenRange> parse_ranges(const std::string& text)
{
    std::vector<TokenRange> ranges;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto number = [&] {
        uint32_t value = 0;
        const auto [next, problem] = std::from_chars(at, end, value);
        if (problem != std::errc{} || value == UINT32_MAX) refuse_list(text);
        at = next;
        return value;
    };
    const auto take = [&](char c) { return at != end && *at == c && ++at; };
    do {
        TokenRange& range = ranges.emplace_back();
        range.first = number();
        range.last = (take('-') ? number() : range.first) + 1;
        if (range.first >= range.last) refuse(Text("'{0}' ends before it begins", printable(text)));
    } while (take(','));
    if (at != end) refuse_list(text);
    return ranges;
}

FoundPin cut_at_end(const PinRequest& request, uint64_t tokens)
{
    FoundPin pin{.label = request.label, .ranges = {}};
    for (const TokenRange& range : *request.ranges) {
        const auto last = static_cast<uint32_t>(std::min<uint64_t>(range.last, tokens));
        pin.is_cut = pin.is_cut || last < range.last;
        if (range.first < last) pin.ranges.push_back({range.first, last});
    }
    return pin;
}

PinsOfText result_of(const PinSearch& search, uint64_t tokens, const Text& where)
{
    search.refuse_missing(tokens, where);
    const std::vector<FoundPin> found = search.found(tokens);
    std::vector<TokenRange> ranges;
    for (const FoundPin& pin : found)
        ranges.insert(ranges.end(), pin.ranges.begin(), pin.ranges.end());
    return {.pins = engine::Pins(std::move(ranges)), .notes = notes_about(found, tokens)};
}

// Counts the layers that pins affect: those that keep their whole sliding window ignore pins.
int32_t layers_with_pins(const engine::Session& session)
{
    int32_t layers = 0;
    for (int32_t l = 0; l < session.model().config().layers; ++l)
        layers += session.policy().watches(l) ? 1 : 0;
    return layers;
}

uint64_t price(const engine::Session& session)
{
    return session.pins().tokens() * static_cast<uint64_t>(layers_with_pins(session)) *
           engine::token_bytes(session.model().config(), *session.options().kv_type);
}

Text place_of_pins(const engine::Session& session)
{
    const int32_t layers = layers_with_pins(session), all = session.model().config().layers;
    if (layers == all) return Text("in every layer and head");
    if (layers == 0) return Text("in no layer, as each keeps its whole window");
    return Text("in every head of {0} of {1} layers", layers, all);
}

// Fraction of the already read pinned tokens that are kept; 1 if none was read.
double held(const engine::Session& session)
{
    double tokens = 0, held = 0;
    for (const TokenRange& range : session.pins().ranges()) {
        const uint64_t last = std::min<uint64_t>(range.last, session.tokens_seen());
        if (last <= range.first) continue;
        tokens += static_cast<double>(last - range.first);
        held += session.held(range) * static_cast<double>(last - range.first);
    }
    return tokens > 0 ? held / tokens : 1;
}

std::string fixed(double number, int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, number);
    return text;
}

} // namespace

void refuse_beyond(std::span<const TokenRange> ranges, const std::string& label, uint64_t tokens, const Text& where)
{
    if (std::ranges::none_of(ranges, [&](const TokenRange& range) { return range.first >= tokens; })) return;
    refuse(Text("'{0}' is behind the end of {1} ({2} tokens)", printable(label), where, format_count(tokens)));
}

PinRequest parse_pin(const std::string& text)
{
    PinRequest request{.label = text, .ranges = {}, .passage = {}};
    if (!text.empty() && text.find_first_not_of("0123456789-,") == std::string::npos)
        request.ranges = parse_ranges(text);
    else
        request.passage = text.starts_with(passage_mark) ? text.substr(passage_mark.size()) : text;
    return request;
}

PinSearch::PinSearch(const std::vector<std::string>& requests, const engine::Model& model)
{
    for (const std::string& text : requests) {
        requests_.push_back(parse_pin(text));
        finders_.emplace_back();
        if (!requests_.back().ranges) finders_.back().emplace(require_tokenizer(model), requests_.back().passage);
    }
}

bool PinSearch::needs_text() const
{
    return std::any_of(finders_.begin(), finders_.end(), [](const auto& finder) { return finder.has_value(); });
}

uint64_t PinSearch::end_of_numbers() const
{
    uint64_t end = 0;
    for (const PinRequest& request : requests_)
        if (request.ranges)
            for (const TokenRange& range : *request.ranges)
                end = std::max<uint64_t>(end, range.last);
    return end;
}

void PinSearch::push(std::span<const engine::TokenId> ids)
{
    for (auto& finder : finders_)
        for (size_t i = 0; finder && i < ids.size(); ++i)
            finder->push(ids[i]);
}

void PinSearch::skip(uint64_t tokens)
{
    for (auto& finder : finders_)
        if (finder) finder->skip(tokens);
}

std::vector<FoundPin> PinSearch::found(uint64_t tokens) const
{
    std::vector<FoundPin> pins;
    for (size_t i = 0; i < requests_.size(); ++i) {
        const PinRequest& request = requests_[i];
        if (request.ranges)
            pins.push_back(cut_at_end(request, tokens));
        else if (const auto& range = finders_[i]->found())
            pins.push_back({.label = request.label, .ranges = {*range}, .matches = finders_[i]->matches()});
    }
    return pins;
}

std::vector<std::string> PinSearch::missing(uint64_t tokens) const
{
    std::vector<std::string> missing;
    for (size_t i = 0; i < requests_.size(); ++i)
        if (finders_[i] ? !finders_[i]->found() : cut_at_end(requests_[i], tokens).is_cut)
            missing.push_back(requests_[i].label);
    return missing;
}

void PinSearch::refuse_missing(uint64_t tokens, const Text& where) const
{
    for (size_t i = 0; i < requests_.size(); ++i) {
        if (finders_[i] && !finders_[i]->found())
            throw Error(ErrorKind::NotFound, ErrorCode::PinNotFound, Text(Setting::Pin),
                        Text("'{0}' is not in {1}", printable(requests_[i].label), where),
                        Text("give the words as they are written there, or token numbers such as 0-99"));
        if (!finders_[i]) refuse_beyond(*requests_[i].ranges, requests_[i].label, tokens, where);
    }
}

std::vector<Text> notes_about(const std::vector<FoundPin>& pins, uint64_t tokens)
{
    std::vector<Text> notes;
    for (const FoundPin& pin : pins) {
        if (pin.matches > 1)
            notes.push_back(
                Text("'{0}' is there {1} times; the first is pinned", pin.label, format_count(pin.matches)));
        if (pin.is_cut)
            notes.push_back(Text("'{0}' reaches beyond the end of the text ({1} tokens); it is pinned up to there",
                                 pin.label, format_count(tokens)));
    }
    return notes;
}

PinsOfText pins_in(std::span<const engine::TokenId> stream, const std::vector<std::string>& requests,
                   const engine::Model& model, const Text& where)
{
    if (requests.empty()) return {};
    PinSearch search(requests, model);
    if (search.needs_text()) search.push(stream);
    return result_of(search, stream.size(), where);
}

PinsOfText pins_of(const std::vector<std::string>& requests, const Documents& documents, bool first_text,
                   const TokensBefore& tokens_before, const engine::Model& model)
{
    if (requests.empty()) return {};
    PinSearch search(requests, model);
    const auto can_be_read_again = [](const auto& document) { return document->total_bytes().has_value(); };
    const bool has_known_end = std::ranges::all_of(documents, can_be_read_again);
    uint64_t tokens = 0;
    const auto goes_on = [&] { return search.needs_text() || (has_known_end && tokens < search.end_of_numbers()); };
    for (size_t i = 0; i < documents.size() && goes_on(); ++i) {
        if (!can_be_read_again(documents[i]))
            throw Error(ErrorKind::Usage, ErrorCode::PinsUnavailable, Text::escaped(documents[i]->name()),
                        Text("it can be read only once, and {0} looks for its passage first", Setting::Pin),
                        Text("give a file, or token numbers such as 0-99"));
        Document again = documents[i]->again();
        const engine::Tokenizer& tokenizer = require_tokenizer(model);
        const uint64_t before = tokens_before(again, i == 0);
        search.skip(before);
        tokens += before;
        if (!search.needs_text()) {
            const uint64_t enough = search.end_of_numbers();
            if (tokens < enough)
                tokens += count_tokens_up_to(again, tokenizer, first_text && i == 0, enough - tokens);
            continue;
        }
        Coverage coverage;
        std::vector<engine::TokenId> ids;
        encode_document(again, tokenizer, first_text && i == 0, coverage,
                        [&](std::string_view, std::span<const engine::EncodedToken> encoded) {
                            ids.clear();
                            for (const engine::EncodedToken& token : encoded)
                                ids.push_back(token.id);
                            search.push(ids);
                            tokens += ids.size();
                        });
    }
    return result_of(search, has_known_end ? tokens : UINT64_MAX,
                     documents.size() == 1 ? Text::escaped(documents[0]->name()) : Text("the documents"));
}

Text pins_sentence(const engine::Session& session)
{
    const uint64_t tokens = session.pins().tokens();
    const std::string count = format_count(tokens), bytes = format_bytes(price(session));
    const std::string share = fixed(100.0 * static_cast<double>(tokens) / capacity_of(session), 1);
    const std::string kept = fixed(100 * held(session), 0);
    const Text place = place_of_pins(session);
    if (capacity_of(session) == session.options().budget)
        return Text("{0} tokens take {1} % of the budget {2} ({3}); {4} % of what was read of them is held", count,
                    share, place, bytes, kept);
    return Text(
        "{0} tokens take {1} % of the room for everything {2} ({3}); {4} % of what was read of them is held", count,
        share, place, bytes, kept);
}

PinsReport PinsReport::of(const engine::Session& session)
{
    return {.pins = session.pins(), .budget = capacity_of(session), .cache_bytes = price(session)};
}

nlohmann::ordered_json PinsReport::json(const engine::RetentionMap& map) const
{
    nlohmann::ordered_json ranges = nlohmann::ordered_json::array();
    for (const TokenRange& range : pins.ranges())
        ranges.push_back({{"first", range.first}, {"last", range.last - 1}, {"held", engine::held(map, range)}});
    return {{"tokens", pins.tokens()}, {"budget", budget}, {"cache_bytes", cache_bytes}, {"ranges", ranges}};
}

nlohmann::ordered_json pins_json(const engine::Session& session)
{
    return PinsReport::of(session).json(session.retention());
}

} // namespace palimpsest::storage
