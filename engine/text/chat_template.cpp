#include "engine/text/chat_template.h"

#include <algorithm>

#include "engine/text/jinja/code_points.h"
#include "engine/text/normalizer.h"
#include "engine/text/turn_framing.h"
#include "engine/text/unicode/utf8_cleaner.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

std::string piece_of(const Tokenizer& tokenizer, TokenId id)
{
    return id < 0 ? std::string() : tokenizer.piece(id);
}

// Derives the framing without a system prompt if the template has no constant place for one.
TurnFraming framing_of(std::string_view source, FramingInputs inputs)
{
    try {
        return derive_framing(source, inputs);
    } catch (const Error&) {
        if (!inputs.with_system) throw;
    }
    inputs.with_system = false;
    return derive_framing(source, inputs);
}

} // namespace

ChatTemplate::ChatTemplate(const Vocabulary& vocabulary, const Tokenizer& tokenizer, const FramingOptions& options)
    : tokenizer_(tokenizer), opens_with_bos_(tokenizer.adds_bos())
{
    if (vocabulary.chat_template.empty()) {
        why_plain_ = Text("the model has no chat template");
    } else if (options.plain) {
        why_plain_ = Text("the session was begun so");
    } else {
        try {
            use_template(vocabulary, options);
        } catch (const Error& error) {
            markers_ = {};
            why_plain_ = error.text();
            warning_ =
                Text("The model's chat template cannot be used: {0}. Turns are framed with \"Question:\" and "
                     "\"Answer:\" instead, so answers may be worse than the model can give.",
                     error.text());
        }
    }
    if (plain_) use_plain(options);
    std::string& last = turn_.open_user.back().text;
    document_is_first_text_ = strip_trailing_space(last) ||
                              std::none_of(turn_.open_user.begin(), turn_.open_user.end(), [&](const Part& part) {
                                  return part.is_users ? !part.text.empty() : has_text(part.text);
                              });
    message_takes_prefix_ = strip_trailing_space(turn_.close_assistant);
}

bool ChatTemplate::prints_date(const Vocabulary& vocabulary)
{
    return vocabulary.chat_template.find("strftime_now") != std::string::npos;
}

void ChatTemplate::use_plain(const FramingOptions& options)
{
    turn_ = {{}, "\n\nQuestion: ", "Question: ", "\nAnswer:", "\n\n"};
    turn_.open_user = {{options.system.empty() ? "" : options.system + "\n\n", true}};
}

void ChatTemplate::use_template(const Vocabulary& vocabulary, const FramingOptions& options)
{
    FramingInputs inputs;
    inputs.bos = piece_of(tokenizer_, tokenizer_.bos());
    inputs.eos = piece_of(tokenizer_, tokenizer_.eos());
    inputs.unknown = piece_of(tokenizer_, vocabulary.unknown);
    inputs.with_system = !options.system.empty();
    inputs.date = options.date;
    TurnFraming framing = framing_of(vocabulary.chat_template, inputs);
    read_markers();
    plain_ = false;
    std::string& first = framing.has_system ? framing.before_system : framing.after_system;
    if (!inputs.bos.empty() && first.starts_with(inputs.bos)) {
        first.erase(0, inputs.bos.size());
        opens_with_bos_ = true;
    }
    turn_ = {{}, "\n\n", "", framing.close_user, framing.close_assistant, framing.trims_start, framing.trims_end};
    if (framing.has_system) {
        turn_.open_user = {{framing.before_system, false}, {options.system, true}, {framing.after_system, false}};
        return;
    }
    turn_.open_user = {{framing.after_system, false}};
    if (!inputs.with_system) return;
    turn_.open_user.push_back({options.system + "\n\n", true});
    warning_ =
        Text("The model's chat template has no place for a system prompt. It stands before the first text of "
             "the conversation instead.");
}

Text ChatTemplate::description() const
{
    return plain_ ? Text("plain: {0}", why_plain_) : Text("the model's own template");
}

// Removes the space at the end of the framing before a user's text if the tokenizer adds that space itself. Returns
// whether it removed one.
bool ChatTemplate::strip_trailing_space(std::string& text) const
{
    if (!text.ends_with(' ') || !tokenizer_.adds_space_prefix()) return false;
    text.pop_back();
    return true;
}

// Finds the control pieces that a template may print. Pieces beyond AddedTokens::longest are not recognised.
void ChatTemplate::read_markers()
{
    for (const TokenId id : tokenizer_.controls()) {
        const std::string& piece = tokenizer_.piece(id);
        if (!piece.empty() && piece.size() <= AddedTokens::longest) markers_.add(piece, id);
    }
}

bool ChatTemplate::has_text(std::string_view text) const
{
    for (size_t at = 0; at < text.size();) {
        const AddedTokens::Place marker = markers_.find(text, at, true);
        if (marker.begin > at) return true;
        at = marker.end;
    }
    return false;
}

// Encodes all text between two control pieces in one call, even where it is part template and part system prompt.
std::vector<TokenId> ChatTemplate::encode_parts(const std::vector<Part>& parts, bool first_piece) const
{
    std::vector<TokenId> ids;
    std::string text;
    const auto flush = [&] {
        const std::vector<TokenId> more = tokenizer_.encode(text, first_piece);
        if (!more.empty()) first_piece = false;
        ids.insert(ids.end(), more.begin(), more.end());
        text.clear();
    };
    for (const Part& part : parts) {
        if (part.is_users) {
            text += prepared(part.text);
            continue;
        }
        for (size_t at = 0; at < part.text.size();) {
            const AddedTokens::Place marker = markers_.find(part.text, at, true);
            text.append(part.text, at, marker.begin - at);
            at = marker.end;
            if (marker.id < 0) continue;
            flush();
            ids.push_back(marker.id);
        }
    }
    flush();
    return ids;
}

std::string ChatTemplate::prepared(std::string_view text) const
{
    return normalize(tokenizer_.normalizer(), clean_utf8(text));
}

std::string ChatTemplate::trimmed(std::string_view text, bool at_start) const
{
    return std::string(jinja::strip(text, at_start && turn_.trims_start, turn_.trims_end, jinja::is_space));
}

std::vector<TokenId> ChatTemplate::open_user() const
{
    std::vector<TokenId> ids = encode_parts(turn_.open_user, true);
    if (opens_with_bos_ && tokenizer_.bos() >= 0) ids.insert(ids.begin(), tokenizer_.bos());
    return ids;
}

std::vector<TokenId> ChatTemplate::next_document(std::string_view title) const
{
    const std::string heading = title.empty() ? std::string("\n\n") : "\n\n" + std::string(title) + "\n\n";
    return tokenizer_.encode(prepared(heading), false);
}

std::vector<TokenId> ChatTemplate::passage(std::string_view place, bool opens_turn) const
{
    const std::string heading = (opens_turn ? "[" : "\n\n[") + std::string(place) + "]\n";
    return tokenizer_.encode(prepared(heading), opens_turn && message_takes_prefix_);
}

std::vector<TokenId> ChatTemplate::question(std::string_view text) const
{
    return tokenizer_.encode(prepared(turn_.before_question + trimmed(text, false)), false);
}

std::vector<TokenId> ChatTemplate::message(std::string_view text, bool at_start) const
{
    return tokenizer_.encode(prepared(turn_.before_message + trimmed(text, true)),
                             at_start ? document_is_first_text_ : message_takes_prefix_);
}

std::vector<TokenId> ChatTemplate::close_user_open_assistant() const
{
    return encode_parts({{turn_.close_user, false}}, false);
}

std::vector<TokenId> ChatTemplate::close_assistant_open_user() const
{
    return encode_parts({{turn_.close_assistant, false}}, false);
}

} // namespace palimpsest::engine
