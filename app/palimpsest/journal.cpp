#include "app/palimpsest/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <system_error>

#include "engine/model/files/content_hash.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;

constexpr const char* schema = "palimpsest.journal/1";

Error inaccessible(const std::string& file, const Text& why)
{
    return {ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file), why,
            Text("check the folder and its permissions")};
}

Error another(const std::string& file, const Text& why)
{
    return {ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(file), why,
            Text("name another file with --journal, or give the same arguments as before")};
}

std::string system_words(int error)
{
    return std::system_category().message(error);
}

std::string read_all(int descriptor, const std::string& file)
{
    std::string text;
    char part[65536];
    for (;;) {
        const ssize_t count = pread(descriptor, part, sizeof part, static_cast<off_t>(text.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw inaccessible(file, Text("it cannot be read ({0})", system_words(errno)));
        if (count == 0) return text;
        text.append(part, static_cast<size_t>(count));
    }
}

} // namespace

void add_journal_option(CLI::App& command, std::string& file)
{
    command.add_option("--journal", file, "write every result to this file, and go on from those in it");
}

std::string input_key(const std::string& name, std::span<const engine::TokenId> tokens)
{
    engine::ContentHash hash;
    hash.add(std::as_bytes(tokens));
    return name + "|" + hash.hex();
}

Journal::Journal(std::string file, const ordered_json& measurement) : file_(std::move(file))
{
    if (file_.empty()) return;
    open();
    try {
        read(measurement);
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

Journal::~Journal()
{
    if (descriptor_ >= 0) close(descriptor_);
}

void Journal::open()
{
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (descriptor_ < 0) throw inaccessible(file_, Text("it cannot be written ({0})", system_words(errno)));
    struct stat state = {};
    const bool is_file = fstat(descriptor_, &state) == 0 && S_ISREG(state.st_mode);
    const bool is_locked = is_file && flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (is_locked) return;
    close(descriptor_);
    throw inaccessible(file_, is_file ? Text("another measurement writes to it") : Text("it is not a file"));
}

void Journal::read(const ordered_json& measurement)
{
    const std::string text = read_all(descriptor_, file_);
    const Text something_else("it holds something else than the results of a measurement");
    const size_t end = text.rfind('\n') + 1; // npos + 1 is 0
    constexpr std::string_view begin_of_all = "{\"schema\":\"palimpsest.journal";
    if (end == 0 && !begin_of_all.starts_with(text.substr(0, begin_of_all.size())))
        throw another(file_, something_else);
    bool is_first = true;
    for (size_t begin = 0; begin < end;) {
        const size_t line_end = text.find('\n', begin);
        const ordered_json line =
            ordered_json::parse(text.begin() + static_cast<ptrdiff_t>(begin),
                                text.begin() + static_cast<ptrdiff_t>(line_end), nullptr, false);
        begin = line_end + 1;
        if (is_first) {
            if (!line.is_object() || line.value("schema", ordered_json()) != schema)
                throw another(file_, something_else);
            if (line.value("measurement", ordered_json()) != measurement)
                throw another(file_, Text("it holds the results of another measurement"));
            is_first = false;
            continue;
        }
        if (!line.is_object() || !line.contains("key") || !line["key"].is_string() || !line.contains("result"))
            throw another(file_, Text("it is damaged at byte {0}", line_end));
        results_[line["key"].get<std::string>()] = line["result"];
    }
    if (end < text.size() && ftruncate(descriptor_, static_cast<off_t>(end)) != 0)
        throw inaccessible(file_, Text("it cannot be written ({0})", system_words(errno)));
    if (is_first) append({{"schema", schema}, {"measurement", measurement}});
}

const ordered_json* Journal::find(const std::string& key) const
{
    const auto found = results_.find(key);
    return found == results_.end() ? nullptr : &found->second;
}

void Journal::add(const std::string& key, ordered_json result)
{
    if (descriptor_ >= 0) append({{"key", key}, {"result", result}});
    results_.emplace(key, std::move(result));
}

void Journal::append(const ordered_json& line)
{
    const std::string text = line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    const off_t before = lseek(descriptor_, 0, SEEK_END);
    size_t written = 0;
    while (written < text.size()) {
        const ssize_t count = write(descriptor_, text.data() + written, text.size() - written);
        if (count > 0) written += static_cast<size_t>(count);
        if (count == 0 || (count < 0 && errno != EINTR)) break;
    }
    if (written == text.size() && fsync(descriptor_) == 0) return;
    const int error = errno;
    if (ftruncate(descriptor_, before) != 0) {
        // The rest of the line is dropped when the file is opened again.
    }
    throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(file_),
                Text("it cannot be written ({0})", system_words(error)),
                Text("free some space, and run the same command again"));
}

} // namespace palimpsest::app
