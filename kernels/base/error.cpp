#include "kernels/base/error.h"

#include <cstdio>

namespace palimpsest {

Error::Error(ErrorKind kind, std::string code, std::string subject, std::string what, std::string remedy,
             std::optional<uint64_t> offset)
    : kind_(kind), code_(std::move(code)), subject_(std::move(subject)), text_(std::move(what)),
      remedy_(std::move(remedy)), offset_(offset)
{
    sentence_ = subject_ + ": " + text_;
    if (!remedy_.empty()) sentence_ += "; " + remedy_;
    sentence_ += " [" + code_ + "]";
}

std::string printable(std::string_view foreign)
{
    constexpr size_t limit = 80;
    std::string out;
    for (const char c : foreign) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) {
            out += c;
        } else {
            char escape[5];
            std::snprintf(escape, sizeof escape, "\\x%02x", byte);
            out += escape;
        }
        if (out.size() >= limit) return out.substr(0, limit - 3) + "...";
    }
    return out;
}

} // namespace palimpsest
