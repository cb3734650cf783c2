#include "engine/text/detokenizer.h"

#include <string_view>
#include <utility>

namespace palimpsest::engine {

IncrementalDetokenizer::IncrementalDetokenizer(const Tokenizer& tokenizer, bool stream_start)
    : tokenizer_(&tokenizer), drop_space_(stream_start && tokenizer.adds_space_prefix())
{
}

std::string IncrementalDetokenizer::push(TokenId id)
{
    std::string_view surface = tokenizer_->surface(id);
    if (surface.empty()) return {};
    if (std::exchange(drop_space_, false) && surface.front() == ' ' && !tokenizer_->is_byte(id))
        surface.remove_prefix(1);
    std::string out;
    for (char byte : surface)
        decoder_.push(static_cast<unsigned char>(byte),
                      [&](char32_t code, size_t, bool) { append_utf8(code, out); });
    return out;
}

std::string IncrementalDetokenizer::finish()
{
    std::string out;
    decoder_.finish([&](char32_t code, size_t, bool) { append_utf8(code, out); });
    return out;
}

} // namespace palimpsest::engine
