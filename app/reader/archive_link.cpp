#include "app/reader/archive_link.h"

#include <algorithm>
#include <vector>

namespace palimpsest::reader {
namespace {

int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

} // namespace

std::string without_percents(std::string_view link)
{
    std::string out;
    for (size_t i = 0; i < link.size(); ++i) {
        const int high = i + 2 < link.size() && link[i] == '%' ? hex_value(link[i + 1]) : -1;
        const int low = high >= 0 ? hex_value(link[i + 2]) : -1;
        if (low >= 0) {
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += link[i];
        }
    }
    return out;
}

std::string resolved(const std::string& base, std::string_view link)
{
    const std::string path = without_percents(link.substr(0, link.find('#')));
    if (path.empty()) return base;
    if (path.find(':') != path.npos && path.find(':') < path.find('/')) return {}; // a scheme
    std::string full = path.front() == '/' ? path.substr(1) : base.substr(0, base.rfind('/') + 1) + path;
    std::vector<std::string_view> parts;
    for (size_t begin = 0; begin <= full.size();) {
        const size_t end = std::min(full.find('/', begin), full.size());
        const std::string_view part = std::string_view(full).substr(begin, end - begin);
        begin = end + 1;
        if (part == ".." && parts.empty()) return {};
        if (part == "..")
            parts.pop_back();
        else if (part != "." && !part.empty())
            parts.push_back(part);
    }
    std::string out;
    for (const std::string_view part : parts)
        out.append(out.empty() ? "" : "/").append(part);
    return out;
}

} // namespace palimpsest::reader
