#include "engine/model/files/split_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "engine/model/config/limits.h"

namespace palimpsest::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view ending = ".gguf", between = "-of-";
constexpr size_t digits = 5;

// Removes five digits and the `mark` before them from the end of `text`, and returns their value; 0 if absent.
uint64_t take_number(std::string_view& text, std::string_view mark)
{
    if (text.size() < digits + mark.size()) return 0;
    const std::string_view number = text.substr(text.size() - digits);
    const std::string_view before = text.substr(text.size() - digits - mark.size(), mark.size());
    const bool all_digits = std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (before != mark || !all_digits) return 0;
    uint64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    text.remove_suffix(digits + mark.size());
    return value;
}

std::string part_name(std::string_view stem, uint64_t number, uint64_t count)
{
    char numbers[32];
    std::snprintf(numbers, sizeof numbers, "-%05u-of-%05u", static_cast<unsigned>(number),
                  static_cast<unsigned>(count));
    return std::string(stem) + numbers + std::string(ending);
}

} // namespace

std::vector<fs::path> split_parts(const fs::path& path)
{
    const std::string name = path.filename().string();
    std::string_view stem = name;
    if (!stem.ends_with(ending)) return {path};
    stem.remove_suffix(ending.size());
    const uint64_t count = take_number(stem, between);
    const uint64_t number = count > 0 ? take_number(stem, "-") : 0;
    if (number < 1 || number > count || count > limits::shards) return {path};
    std::vector<fs::path> parts;
    for (uint64_t part = 1; part <= count; ++part)
        parts.push_back(path.parent_path() / part_name(stem, part, count));
    return parts;
}

std::vector<std::shared_ptr<MappedFile>> open_parts(const fs::path& path)
{
    const auto parts = split_parts(path);
    std::vector<std::shared_ptr<MappedFile>> files;
    for (const fs::path& part : parts) {
        std::error_code ignored;
        if (parts.size() > 1 && fs::exists(path, ignored) && !fs::exists(part, ignored))
            throw Error(ErrorKind::NotFound, ErrorCode::ModelG18, Text::verbatim(path.string()),
                        Text("it is one of {0} parts, and {1} is not beside it", parts.size(),
                             in_quotes(part.filename().string())),
                        Text("download that part into the same folder"));
        files.push_back(MappedFile::open(part, limits::file_bytes, ErrorCode::ModelG1));
    }
    return files;
}

void check_split(std::span<const GgufFile> parts, const Refusal& refuse)
{
    constexpr ErrorCode rule = ErrorCode::ModelG18;
    const uint64_t claimed = parts.front().whole("split.count").value_or(1);
    if (claimed <= 1 && parts.size() == 1) return;
    uint64_t tensors = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        const uint64_t count = parts[i].whole("split.count").value_or(1);
        const uint64_t number = parts[i].whole("split.no").value_or(0);
        if (count != parts.size() || number != i) {
            refuse.fail(rule,
                        Text("by its metadata it is part {0} of {1}, by its name part {2} of {3}", number + 1,
                             count, i + 1, parts.size()),
                        Text("give the parts the names they were published with"));
        }
        tensors += parts[i].tensors().size();
    }
    const auto all = parts.front().whole("split.tensors.count");
    if (all && *all != tensors)
        refuse.fail(rule, Text("its parts have {0} tensors, but {1} are claimed", tensors, *all));
}

} // namespace palimpsest::engine
