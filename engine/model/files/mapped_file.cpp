#include "engine/model/files/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {
namespace {

constexpr std::align_val_t copy_alignment{64};

int64_t modified_ns(const struct stat& s)
{
    return static_cast<int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec;
}

[[noreturn]] void fail_to_open(const std::string& name, ErrorCode rule, int error)
{
    const bool absent = error == ENOENT || error == ENOTDIR;
    throw Error(absent ? ErrorKind::NotFound : ErrorKind::Failed, rule, Text::verbatim(name),
                absent ? Text("there is no such file") : Text("it cannot be opened: {0}", std::strerror(error)),
                absent ? Text("check the path") : Text("check its permissions"));
}

} // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::filesystem::path& path, uint64_t limit, ErrorCode rule)
{
    std::shared_ptr<MappedFile> file(new MappedFile);
    file->name_ = path.string();
    const Refusal refuse(file->name_);
    // O_NONBLOCK: opening a FIFO must not wait for its writer.
    file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->descriptor_ < 0) fail_to_open(file->name_, rule, errno);
    struct stat s = {};
    if (fstat(file->descriptor_, &s) != 0) fail_to_open(file->name_, rule, errno);
    if (!S_ISREG(s.st_mode)) refuse.fail(rule, Text("it is not a regular file"), Text("choose a model file"));
    const auto size = static_cast<uint64_t>(s.st_size);
    if (size == 0) refuse.fail(rule, Text("the file is empty"));
    if (size > limit) {
        refuse.fail(rule, Text("the file has {0} bytes, the limit is {1}", size, limit), Refusal::other_model());
    }
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file->descriptor_, 0);
    if (data == MAP_FAILED) fail_to_open(file->name_, rule, errno);
    file->data_ = static_cast<const std::byte*>(data);
    file->size_ = size;
    file->inode_ = s.st_ino;
    file->device_ = s.st_dev;
    file->modified_ns_ = modified_ns(s);
    file->guard_.emplace(data, size);
    return file;
}

std::shared_ptr<MappedFile> MappedFile::copy(std::span<const std::byte> bytes, std::string name)
{
    std::shared_ptr<MappedFile> file(new MappedFile);
    file->name_ = std::move(name);
    auto* data = static_cast<std::byte*>(::operator new(bytes.size(), copy_alignment, std::nothrow));
    if (!data) {
        throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text::verbatim(file->name_),
                    Text("a copy of it needs {0} bytes of memory, which are not free", bytes.size()),
                    Text("close other programs or use a smaller model"));
    }
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    file->data_ = data;
    file->size_ = bytes.size();
    return file;
}

MappedFile::~MappedFile()
{
    guard_.reset();
    if (descriptor_ >= 0) {
        if (data_) munmap(const_cast<std::byte*>(data_), size_);
        close(descriptor_);
    } else if (data_) {
        ::operator delete(const_cast<std::byte*>(data_), copy_alignment);
    }
}

std::string_view MappedFile::text() const
{
    return {reinterpret_cast<const char*>(data_), size_};
}

void MappedFile::check_unchanged() const
{
    if (!is_file()) return;
    const Refusal refuse(name_);
    const Text remedy("leave the file alone while it is in use and open it again");
    struct stat held = {}, named = {};
    if (fstat(descriptor_, &held) != 0)
        refuse.fail(ErrorCode::ModelG16, Text("the file can no longer be read"), remedy);
    const auto size = static_cast<uint64_t>(held.st_size);
    if (size != size_) {
        refuse.fail(ErrorCode::ModelG16,
                    Text("the file had {0} bytes when it was opened and has {1} now", size_, size), remedy);
    }
    if (guard_->faulted()) refuse.fail(ErrorCode::ModelG16, Text("a part of the file could not be read"), remedy);
    if (modified_ns(held) != modified_ns_)
        refuse.fail(ErrorCode::ModelG16, Text("the file was rewritten while it was read"), remedy);
    if (stat(name_.c_str(), &named) != 0 || named.st_ino != inode_ || named.st_dev != device_)
        refuse.fail(ErrorCode::ModelG16, Text("the file was replaced or removed while it was read"), remedy);
}

} // namespace palimpsest::engine
