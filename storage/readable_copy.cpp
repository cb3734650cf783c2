#include "storage/readable_copy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

class Descriptor {
public:
    Descriptor(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600))
    {
        if (descriptor_ < 0) refuse_copy(path, errno);
    }
    ~Descriptor() { ::close(descriptor_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

void write_all(const Descriptor& to, std::span<const char> bytes, const fs::path& path)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(to.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) refuse_copy(path, errno);
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
}

// Fills what cannot be read with zeros.
void fill_piece(const ReadAt& read, std::span<char> piece, uint64_t place)
{
    while (!piece.empty()) {
        const ssize_t count = read(piece, place);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return std::fill(piece.begin(), piece.end(), '\0');
        piece = piece.subspan(static_cast<size_t>(count));
        place += static_cast<uint64_t>(count);
    }
}

} // namespace

void copy_readable(const ReadAt& read, uint64_t bytes, const fs::path& to, const std::function<void()>& check_stop)
{
    const Descriptor copy(to, O_WRONLY | O_CREAT | O_TRUNC);
    std::array<char, copied_piece_bytes> piece{};
    for (uint64_t place = 0; place < bytes; place += copied_piece_bytes) {
        check_stop();
        const auto part = std::span(piece).first(std::min<uint64_t>(copied_piece_bytes, bytes - place));
        fill_piece(read, part, place);
        write_all(copy, part, to);
    }
}

void copy_readable(const fs::path& from, const fs::path& to, const std::function<void()>& check_stop)
{
    const Descriptor file(from, O_RDONLY);
    struct stat status {};
    if (fstat(file.get(), &status) != 0) refuse_copy(from, errno);
    copy_readable(
        [&](std::span<char> piece, uint64_t place) {
            return ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(place));
        },
        static_cast<uint64_t>(status.st_size), to, check_stop);
}

void refuse_copy(const fs::path& file, int reason)
{
    if (reason == ENOSPC || reason == EDQUOT)
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(file.string()),
                    Text("there is too little space to rescue what it holds"), Text("free space"));
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file.string()),
                Text("it cannot be copied ({0})", std::strerror(reason)),
                Text("nothing was changed; check the folder and its permissions"));
}

} // namespace palimpsest::storage
