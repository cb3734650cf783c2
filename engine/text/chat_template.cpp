#include "engine/text/chat_template.h"

#include <algorithm>
#include <array>

#include "engine/text/normalizer.h"
#include "engine/text/utf8_cleaner.h"

namespace palimpsest::engine {
namespace {

// What a family's template renders around the turns; {bos} and {eos} stand for the model's pieces.
struct Family {
    std::string_view name;
    std::string_view source; // of the template, as published
    std::string_view open_user, close_user, close_assistant;
};

constexpr std::array families = {
    Family{
        "palimpsest",
        "{% for m in messages %}{% if m['role'] == 'user' %}<|user|>{{ m['content'] }}<|end|>{% else %}"
        "<|assistant|>{{ m['content'] }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>"
        "{% endif %}",
        "<|user|>",
        "<|end|><|assistant|>",
        "<|end|><|user|>",
    },
    Family{
        "zephyr", // TinyLlama-Chat; line ends after {% %} are not rendered
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + message['content'] "
        "+ "
        "eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + message['content'] + eos_token "
        "}}\n"
        "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n"
        "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor "
        "%}",
        "<|user|>\n",
        "{eos}\n<|assistant|>\n",
        "{eos}\n<|user|>\n",
    },
    Family{
        "chatml",
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
        "'<|im_end|>' + "
        "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
        "<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
        "<|im_end|>\n<|im_start|>user\n",
    },
    Family{
        "llama-2",
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
        "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% "
        "endif %}"
        "{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ "
        "raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if "
        "loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + "
        "'\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% "
        "if "
        "message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif "
        "message['role'] "
        "== 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
        "[INST] ",
        " [/INST]",
        " {eos}{bos}[INST] ",
    },
    Family{
        "mistral",
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) "
        "%}{{ "
        "raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if "
        "message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == "
        "'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant "
        "roles "
        "are supported!') }}{% endif %}{% endfor %}",
        "[INST] ",
        " [/INST]",
        "{eos}[INST] ",
    },
};

// Converters disagree about line ends behind a template, which are not rendered.
std::string_view without_last_line_ends(std::string_view source)
{
    while (source.ends_with('\n'))
        source.remove_suffix(1);
    return source;
}

const Family* find_family(std::string_view source)
{
    const auto* found = std::find_if(families.begin(), families.end(), [&](const Family& family) {
        return family.source == without_last_line_ends(source);
    });
    return found == families.end() ? nullptr : &*found;
}

std::string with_special_pieces(std::string_view text, const Tokenizer& tokenizer)
{
    std::string out(text);
    const auto replace = [&](std::string_view name, TokenId id) {
        const size_t at = out.find(name);
        if (at != std::string::npos) out.replace(at, name.size(), id < 0 ? std::string() : tokenizer.piece(id));
    };
    replace("{bos}", tokenizer.bos());
    replace("{eos}", tokenizer.eos());
    return out;
}

} // namespace

ChatTemplate::ChatTemplate(const Vocabulary& vocabulary, const Tokenizer& tokenizer) : tokenizer_(tokenizer)
{
    const Family* family = find_family(vocabulary.chat_template);
    if (family == nullptr) {
        name_ = "plain";
        turn_ = {"", "\n\nQuestion: ", "Question: ", "\nAnswer:", "\n\n"};
        if (!vocabulary.chat_template.empty())
            warning_ = "The model's chat template is not one that this version knows. Turns are framed with "
                       "\"Question:\" and "
                       "\"Answer:\" instead, so answers may be worse than the model can give.";
    } else {
        plain_ = false;
        name_ = family->name;
        turn_ = {std::string(family->open_user), "\n\n", "", with_special_pieces(family->close_user, tokenizer),
                 with_special_pieces(family->close_assistant, tokenizer)};
    }
    document_is_first_text_ = yield_space(turn_.open_user) || !has_text(turn_.open_user);
    message_takes_prefix_ = yield_space(turn_.close_assistant);
}

// A space before the user's text is left to the dummy prefix, so that it joins the first word as in one encode.
bool ChatTemplate::yield_space(std::string& text) const
{
    if (!text.ends_with(' ') || !tokenizer_.adds_space_prefix()) return false;
    text.pop_back();
    return true;
}

// The first control piece that `text` spells, the longest of those that begin there; -1: none.
ChatTemplate::Marker ChatTemplate::find_marker(std::string_view text) const
{
    Marker found{text.size(), 0, -1};
    for (TokenId id : tokenizer_.controls()) {
        const std::string& piece = tokenizer_.piece(id);
        const size_t at = text.find(piece);
        if (at > found.begin || at == std::string_view::npos) continue;
        if (at < found.begin || piece.size() > found.size) found = {at, piece.size(), id};
    }
    return found;
}

bool ChatTemplate::has_text(std::string_view text) const
{
    while (!text.empty()) {
        const Marker marker = find_marker(text);
        if (marker.begin > 0) return true;
        text.remove_prefix(marker.size);
    }
    return false;
}

std::vector<TokenId> ChatTemplate::encode_markers(std::string_view text, bool first_piece) const
{
    std::vector<TokenId> ids;
    while (!text.empty()) {
        const Marker marker = find_marker(text);
        const std::vector<TokenId> before = tokenizer_.encode(text.substr(0, marker.begin), first_piece);
        if (!before.empty()) first_piece = false;
        ids.insert(ids.end(), before.begin(), before.end());
        if (marker.id >= 0) ids.push_back(marker.id);
        text.remove_prefix(marker.begin + marker.size);
    }
    return ids;
}

std::vector<TokenId> ChatTemplate::encode_text(std::string_view text, bool first_piece) const
{
    return tokenizer_.encode(normalize(tokenizer_.normalizer(), clean_utf8(text)), first_piece);
}

std::vector<TokenId> ChatTemplate::open_user() const
{
    std::vector<TokenId> ids = encode_markers(turn_.open_user, true);
    if (tokenizer_.adds_bos() && tokenizer_.bos() >= 0) ids.insert(ids.begin(), tokenizer_.bos());
    return ids;
}

std::vector<TokenId> ChatTemplate::next_document(std::string_view title) const
{
    return encode_text(title.empty() ? std::string("\n\n") : "\n\n" + std::string(title) + "\n\n", false);
}

std::vector<TokenId> ChatTemplate::question(std::string_view text) const
{
    return encode_text(turn_.before_question + std::string(text), false);
}

std::vector<TokenId> ChatTemplate::message(std::string_view text, bool at_start) const
{
    return encode_text(turn_.before_message + std::string(text),
                       at_start ? document_is_first_text_ : message_takes_prefix_);
}

std::vector<TokenId> ChatTemplate::close_user_open_assistant() const
{
    return encode_markers(turn_.close_user, false);
}

std::vector<TokenId> ChatTemplate::close_assistant_open_user() const
{
    return encode_markers(turn_.close_assistant, false);
}

} // namespace palimpsest::engine
