#include "storage/reader/frame.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/text/unicode/utf8.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

constexpr size_t header_bytes = 5; // the kind, and the length of the payload
constexpr std::string_view magic = "PALR";

bool is_control(char c)
{
    return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

template<class Number>
void put(std::string& out, Number number)
{
    for (size_t i = 0; i < sizeof(Number); ++i)
        out += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i) & 0xFF);
}

void put_string(std::string& out, std::string_view text)
{
    put(out, static_cast<uint32_t>(text.size()));
    out += text;
}

struct Encoder {
    std::string& out;

    void operator()(const ReaderHello& hello) const
    {
        out += magic;
        put(out, hello.version);
        put_string(out, hello.format);
    }
    void operator()(const ReaderFact& fact) const
    {
        put(out, static_cast<uint8_t>(fact.fact));
        put_string(out, fact.value);
    }
    void operator()(const ReaderText& text) const { out += text.text; }
    void operator()(const ReaderHeading& heading) const
    {
        put(out, static_cast<uint8_t>(heading.level));
        put_string(out, heading.title);
    }
    void operator()(const ReaderPage& page) const { put_string(out, page.label); }
    void operator()(const ReaderNote& note) const { put_string(out, note.text.packed()); }
    void operator()(const ReaderProgress& progress) const
    {
        put(out, progress.done);
        put(out, progress.all);
    }
    void operator()(const ReaderEnd& end) const { put(out, end.text_bytes); }
    void operator()(const ReaderProblem& problem) const
    {
        put(out, static_cast<uint8_t>(problem.problem));
        put_string(out, problem.what.packed());
        put_string(out, problem.remedy.packed());
    }
};

// Reads the payload of one message to its end.
class Payload {
public:
    explicit Payload(std::string_view bytes) : rest_(bytes) {}

    template<class Number>
    Number number()
    {
        uint64_t value = 0;
        const std::string_view bytes = take(sizeof(Number));
        for (size_t i = 0; i < sizeof(Number); ++i)
            value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        return static_cast<Number>(value);
    }
    template<class Choice>
    Choice choice(Choice last)
    {
        const auto value = number<uint8_t>();
        if (value > static_cast<uint8_t>(last)) throw FrameError("a value that is not defined");
        return static_cast<Choice>(value);
    }
    std::string_view take(size_t bytes)
    {
        if (bytes > rest_.size()) throw FrameError("a message shorter than it says");
        const std::string_view taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }
    std::string_view bytes() { return take(number<uint32_t>()); }
    // Text of one line, of at most longest_reader_title bytes.
    std::string title()
    {
        const std::string_view text = bytes();
        if (text.size() > longest_reader_title) throw FrameError("a title that is too long");
        if (!engine::is_valid_utf8(text) || std::ranges::any_of(text, is_control))
            throw FrameError("a title with invalid or control characters");
        return std::string(text);
    }
    std::string text()
    {
        const std::string_view text = take(rest_.size());
        if (text.empty() || text.size() > longest_reader_text) throw FrameError("a text of a wrong length");
        if (!engine::is_valid_utf8(text) || text.find('\0') != text.npos) throw FrameError("invalid UTF-8");
        return std::string(text);
    }
    Text message()
    {
        auto text = Text::unpacked(bytes());
        if (!text || !is_printable(text->english())) throw FrameError("a sentence with control characters");
        return *std::move(text);
    }
    void finish() const
    {
        if (!rest_.empty()) throw FrameError("a message longer than it says");
    }

private:
    std::string_view rest_;
};

template<class Frame>
Frame decode(Payload& payload);

template<>
ReaderHello decode(Payload& payload)
{
    if (payload.take(magic.size()) != magic) throw FrameError("no greeting");
    const auto version = payload.number<uint32_t>();
    return {.version = version, .format = payload.title()};
}

template<>
ReaderFact decode(Payload& payload)
{
    const auto fact = payload.choice(DocumentFact::Language);
    return {.fact = fact, .value = payload.title()};
}

template<>
ReaderText decode(Payload& payload)
{
    return {payload.text()};
}

template<>
ReaderHeading decode(Payload& payload)
{
    const int level = payload.number<uint8_t>();
    if (level < 1 || level > deepest_heading) throw FrameError("a heading of no level");
    return {.level = level, .title = payload.title()};
}

template<>
ReaderPage decode(Payload& payload)
{
    return {payload.title()};
}

template<>
ReaderNote decode(Payload& payload)
{
    return {payload.message()};
}

template<>
ReaderProgress decode(Payload& payload)
{
    const auto done = payload.number<uint64_t>(), all = payload.number<uint64_t>();
    if (done > all) throw FrameError("progress past the end");
    return {.done = done, .all = all};
}

template<>
ReaderEnd decode(Payload& payload)
{
    return {payload.number<uint64_t>()};
}

template<>
ReaderProblem decode(Payload& payload)
{
    const auto problem = payload.choice(DocumentProblem::Unreadable);
    Text what = payload.message();
    return {.problem = problem, .what = std::move(what), .remedy = payload.message()};
}

template<size_t... kinds>
ReaderFrame decode_kind(size_t kind, Payload& payload, std::index_sequence<kinds...>)
{
    using Decode = ReaderFrame (*)(Payload&);
    constexpr std::array<Decode, sizeof...(kinds)> decoders{
        [](Payload& of) -> ReaderFrame { return decode<std::variant_alternative_t<kinds, ReaderFrame>>(of); }...};
    if (kind >= decoders.size()) throw FrameError("a message of an unknown kind");
    return decoders[kind](payload);
}

} // namespace

std::string encoded(const ReaderFrame& frame)
{
    std::string payload;
    std::visit(Encoder{payload}, frame);
    std::string out(1, static_cast<char>(frame.index()));
    put_string(out, payload);
    return out;
}

std::optional<ReaderFrame> FrameDecoder::next()
{
    const std::string_view rest = std::string_view(pending_).substr(begin_);
    uint8_t kind = 0;
    uint32_t length = 0;
    const bool has_header = rest.size() >= header_bytes;
    if (has_header) {
        Payload header(rest.substr(0, header_bytes));
        kind = header.number<uint8_t>();
        length = header.number<uint32_t>();
        if (length > longest_reader_payload) throw FrameError("a message that is too long");
    }
    if (!has_header || rest.size() - header_bytes < length) {
        pending_.erase(0, std::exchange(begin_, 0));
        return std::nullopt;
    }
    Payload payload(rest.substr(header_bytes, length));
    ReaderFrame frame = decode_kind(kind, payload, std::make_index_sequence<std::variant_size_v<ReaderFrame>>());
    payload.finish();
    begin_ += header_bytes + length;
    return frame;
}

} // namespace palimpsest::storage
