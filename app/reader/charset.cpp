#include "app/reader/charset.h"

#include <algorithm>
#include <memory>
#include <uchardet/uchardet.h>
#include <unicode/ucnv.h>
#include <utility>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::reader {
namespace {

struct ByteOrderMark {
    std::string_view bytes;
    const char* charset;
};
// UTF-32's little-endian mark begins with UTF-16's.
constexpr ByteOrderMark marks[] = {{{"\xEF\xBB\xBF", 3}, "UTF-8"},
                                   {{"\xFF\xFE\0\0", 4}, "UTF-32LE"},
                                   {{"\0\0\xFE\xFF", 4}, "UTF-32BE"},
                                   {{"\xFF\xFE", 2}, "UTF-16LE"},
                                   {{"\xFE\xFF", 2}, "UTF-16BE"}};

using Converter = std::unique_ptr<UConverter, decltype(&ucnv_close)>;

Converter converter(const std::string& charset)
{
    UErrorCode error = U_ZERO_ERROR;
    Converter opened(charset.empty() ? nullptr : ucnv_open(charset.c_str(), &error), ucnv_close);
    if (U_FAILURE(error)) opened.reset();
    return opened;
}

std::string convert(std::string_view bytes, UConverter& from)
{
    const Converter to = converter("UTF-8");
    std::string out;
    std::string part(64 * 1024, '\0');
    std::u16string pivot(16 * 1024, u'\0');
    const char* source = bytes.data();
    const char* const source_end = source + bytes.size();
    UChar* pivot_read = pivot.data();
    UChar* pivot_write = pivot.data();
    bool begins = true;
    UErrorCode error = U_BUFFER_OVERFLOW_ERROR;
    while (error == U_BUFFER_OVERFLOW_ERROR) {
        error = U_ZERO_ERROR;
        char* target = part.data();
        ucnv_convertEx(to.get(), &from, &target, part.data() + part.size(), &source, source_end, pivot.data(),
                       &pivot_read, &pivot_write, pivot.data() + pivot.size(), begins, true, &error);
        begins = false;
        out.append(part.data(), target);
    }
    return out;
}

std::string detected_charset(std::string_view bytes)
{
    constexpr size_t enough = 1 << 20;
    const std::unique_ptr<uchardet, decltype(&uchardet_delete)> detector(uchardet_new(), uchardet_delete);
    uchardet_handle_data(detector.get(), bytes.data(), std::min(bytes.size(), enough));
    uchardet_data_end(detector.get());
    return uchardet_get_charset(detector.get());
}

// Files that declare a charset are often written in a larger one, as browsers know (WHATWG, Encoding). A
// declaration that can be read as ASCII is not in UTF-16 or UTF-32.
std::string usual_name(std::string_view charset)
{
    std::string name(charset);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    if (name.starts_with("utf-16") || name.starts_with("utf-32") || name == "ucs-2" || name == "unicode") return {};
    constexpr std::pair<std::string_view, const char*> larger[] = {{"iso-8859-1", "windows-1252"},
                                                                   {"latin1", "windows-1252"},
                                                                   {"us-ascii", "windows-1252"},
                                                                   {"ascii", "windows-1252"},
                                                                   {"iso-8859-9", "windows-1254"},
                                                                   {"gb2312", "GB18030"},
                                                                   {"gbk", "GB18030"},
                                                                   {"euc-kr", "windows-949"},
                                                                   {"ks_c_5601-1987", "windows-949"},
                                                                   {"shift_jis", "windows-31j"},
                                                                   {"sjis", "windows-31j"}};
    for (const auto& [declared, meant] : larger)
        if (name == declared) return meant;
    return name;
}

DecodedText converted(std::string_view bytes, const std::string& charset)
{
    if (const Converter from = converter(charset)) return {convert(bytes, *from), charset};
    return {};
}

} // namespace

DecodedText decoded_text(std::string_view bytes, std::string_view declared)
{
    for (const ByteOrderMark& mark : marks)
        if (bytes.starts_with(mark.bytes)) return converted(bytes.substr(mark.bytes.size()), mark.charset);
    const std::string name = usual_name(declared);
    if (name.empty() || name == "windows-1252") // what is declared so is often UTF-8
        if (engine::is_valid_utf8(bytes)) return {std::string(bytes), "UTF-8"};
    if (DecodedText text = converted(bytes, name); !text.charset.empty()) return text;
    if (engine::is_valid_utf8(bytes)) return {std::string(bytes), "UTF-8"};
    if (DecodedText text = converted(bytes, usual_name(detected_charset(bytes))); !text.charset.empty())
        return text;
    return converted(bytes, "windows-1252");
}

std::string declared_charset(std::string_view bytes)
{
    constexpr size_t beginning = 2048;
    std::string head(bytes.substr(0, beginning));
    std::ranges::transform(head, head.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    const bool is_xml = head.find("<?xml") < 4;
    for (const std::string_view key :
         {std::string_view(is_xml ? "encoding" : "charset"), std::string_view("charset")}) {
        size_t at = head.find(key);
        if (at == head.npos) continue;
        at = head.find_first_not_of(" \t\r\n", at + key.size());
        if (at == head.npos || head[at] != '=') continue;
        at = head.find_first_not_of(" \t\r\n\"'", at + 1);
        if (at == head.npos) continue;
        const size_t end = head.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.:", at);
        return head.substr(at, end == head.npos ? end : end - at);
    }
    return {};
}

} // namespace palimpsest::reader
