#include "storage/models/config_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/user_folders.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse(const fs::path& file, ErrorKind kind, ErrorCode code, const Text& what)
{
    throw Error(kind, code, Text::escaped(file.string()), what,
                Text("nothing was changed; check the folder, its permissions and the free space"));
}

// Empty if the file does not exist; without a byte order mark. Throws Error (Failed) if it exists but cannot be
// read: overwriting it would lose the other settings.
std::string read_text(const fs::path& file)
{
    std::error_code unknown;
    if (!fs::exists(file, unknown)) return {};
    std::ifstream stream(file, std::ios::binary);
    if (!fs::is_regular_file(file, unknown) || !stream)
        refuse(file, ErrorKind::Failed, ErrorCode::InaccessibleFile, Text("it cannot be read"));
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
    return text;
}

json parse(const std::string& text)
{
    if (text.empty()) return json::object();
    json document = json::parse(text, nullptr, false, true);
    if (!document.is_object())
        throw Error(ErrorKind::Usage, ErrorCode::InvalidConfiguration, Text::escaped(config_path()),
                    Text("it is not a JSON object"), Text("correct it or remove it"));
    return document;
}

// Position of a top-level key and its value in the text of an object.
struct Member {
    std::string key;
    size_t begin = 0, value = 0, end = 0; // offsets: opening quote of the key, start of the value, end of the value
};

class ObjectText {
public:
    // REQUIRES: `text` is a JSON object; comments are allowed.
    explicit ObjectText(const std::string& text) : text_(text)
    {
        skip_space();
        open_ = at_++; // the brace
        for (skip_space(); text_[at_] != '}'; skip_space()) {
            if (text_[at_] == ',') {
                ++at_;
                continue;
            }
            read_member();
        }
        close_ = at_;
    }

    size_t open() const { return open_; }
    size_t close() const { return close_; }
    const std::vector<Member>& members() const { return members_; }

private:
    void skip_space()
    {
        while (at_ < text_.size()) {
            if (text_.compare(at_, 2, "//") == 0)
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (text_.compare(at_, 2, "/*") == 0)
                at_ = text_.find("*/", at_ + 2) + 2;
            else if (std::strchr(" \t\r\n", text_[at_]) && text_[at_] != '\0')
                ++at_;
            else
                return;
        }
    }

    void skip_string()
    {
        for (++at_; text_[at_] != '"'; ++at_)
            if (text_[at_] == '\\') ++at_;
        ++at_;
    }

    void skip_value()
    {
        int depth = 0;
        do {
            skip_space();
            const char c = text_[at_];
            if (c == '"') {
                skip_string();
            } else if (c == '{' || c == '[') {
                ++depth, ++at_;
            } else if (c == '}' || c == ']') {
                --depth, ++at_;
            } else if (c == ',' || c == ':') {
                ++at_;
            } else { // a number, true, false or null
                at_ = text_.find_first_of(" \t\r\n,]}/", at_);
            }
        } while (depth > 0);
    }

    void read_member()
    {
        Member member;
        member.begin = at_;
        skip_string();
        member.key = json::parse(text_.substr(member.begin, at_ - member.begin)).get<std::string>();
        skip_space();
        ++at_; // the colon
        skip_space();
        member.value = at_;
        skip_value();
        member.end = at_;
        members_.push_back(std::move(member));
    }

    const std::string& text_;
    size_t at_ = 0, open_ = 0, close_ = 0;
    std::vector<Member> members_;
};

std::string without(const std::string& text, const std::vector<Member>& members, size_t index)
{
    const Member& member = members[index];
    // Removes the member with the comma after it, or the last member with the comma before it.
    if (index + 1 < members.size()) return text.substr(0, member.begin) + text.substr(members[index + 1].begin);
    const size_t begin = index > 0 ? members[index - 1].end : member.begin;
    return text.substr(0, begin) + text.substr(member.end);
}

// Replaces the file atomically: writes and syncs a temporary file, then renames it.
void replace_file(const fs::path& file, const std::string& text)
{
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    std::string temporary = file.string() + ".XXXXXX";
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0)
        refuse(file, ErrorKind::Failed, ErrorCode::InaccessibleFile,
               Text("it cannot be written: {0}", std::strerror(errno)));
    struct stat old = {};
    if (stat(file.c_str(), &old) == 0) static_cast<void>(fchmod(descriptor, old.st_mode & 0777));
    size_t written = 0;
    bool good = true;
    while (good && written < text.size()) {
        const ssize_t now = write(descriptor, text.data() + written, text.size() - written);
        if (now > 0) written += static_cast<size_t>(now);
        good = now > 0 || (now < 0 && errno == EINTR);
    }
    good = good && fsync(descriptor) == 0;
    good = close(descriptor) == 0 && good;
    if (good) fs::rename(temporary, file, failed);
    if (good && !failed) return;
    unlink(temporary.c_str());
    refuse(file, ErrorKind::Resources, ErrorCode::DiskFull, Text("it could not be written"));
}

} // namespace

json read_config()
{
    return parse(read_text(config_path()));
}

std::string with_key(const std::string& text, const std::string& key, const std::optional<std::string>& value)
{
    const ObjectText object(text);
    const auto& members = object.members();
    size_t index = 0;
    while (index < members.size() && members[index].key != key)
        ++index;
    const std::string written = value ? json(*value).dump() : std::string();
    if (index < members.size()) {
        if (!value) return without(text, members, index);
        return text.substr(0, members[index].value) + written + text.substr(members[index].end);
    }
    if (!value) return text;
    const std::string member = "\n    " + json(key).dump() + ": " + written;
    const size_t behind = members.empty() ? object.open() + 1 : members.back().end;
    return text.substr(0, behind) + (members.empty() ? "" : ",") + member + (members.empty() ? "\n" : "") +
           text.substr(behind);
}

void write_config(const std::string& key, const std::optional<std::string>& value)
{
    fs::path file = config_path();
    std::error_code unknown;
    if (fs::exists(file, unknown)) file = fs::canonical(file, unknown); // keeps a symbolic link
    const std::string before = read_text(file);
    json wanted = parse(before);
    if (!value && !wanted.contains(key)) return;
    wanted.erase(key);
    if (value) wanted[key] = *value;
    const std::string after = with_key(before.empty() ? "{}\n" : before, key, value);
    if (parse(after) != wanted) // for example, because the key occurs twice
        refuse(file, ErrorKind::Failed, ErrorCode::InaccessibleFile,
               Text("its '{0}' could not be changed", printable(key)));
    replace_file(file, after);
}

} // namespace palimpsest::storage
