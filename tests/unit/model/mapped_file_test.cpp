// docs/validation.md, G1, G3, G16 and L8, on real files.

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/files/mapped_file.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/open_model.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/scratch_folder.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

void write(const std::filesystem::path& path, std::string_view text)
{
    std::ofstream(path, std::ios::binary) << text;
}

void check(const Refused& refusal, const std::string& code, const std::string& part)
{
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

} // namespace

TEST_CASE("G1 opens only regular files of permitted size")
{
    const ScratchFolder scratch;
    const auto open = [&](const char* name) {
        return refused([&] { MappedFile::open(scratch.path() / name, 100, ErrorCode::ModelG1); });
    };
    check(open("absent"), "01", "there is no such file; check the path");
    write(scratch.path() / "empty", "");
    check(open("empty"), "01", "the file is empty");
    write(scratch.path() / "long", std::string(101, 'x'));
    check(open("long"), "01", "the file has 101 bytes, the limit is 100");
    REQUIRE(mkfifo((scratch.path() / "fifo").c_str(), 0600) == 0);
    check(open("fifo"), "01", "it is not a regular file"); // without waiting for a writer
    check(refused([&] { MappedFile::open(scratch.path(), 100, ErrorCode::ModelG1); }), "01",
          "it is not a regular file");
    check(refused([] { MappedFile::open("/dev/zero", 100, ErrorCode::ModelG1); }), "01",
          "it is not a regular file");
    try {
        MappedFile::open(scratch.path() / "absent", 100, ErrorCode::ModelG1);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::NotFound);
    }
}

TEST_CASE("a GGUF file on disk is mapped, hashed and closed")
{
    const ScratchFolder scratch;
    const auto path = scratch.path() / "tiny.gguf";
    const Bytes bytes = tiny_gguf().build();
    write(path, bytes.text());
    const auto model = open_model(path);
    CHECK(model.path == path);
    CHECK(model.file_bytes == bytes.size());
    CHECK(touch(model) == touch(open_model(path)));
    const std::string hash = full_hash(model);
    CHECK(hash.size() == 32);
    CHECK(full_hash(open_model(path)) == hash);
    write(path, Bytes(bytes).pad_to(bytes.size() + 32).text());
    CHECK(full_hash(open_model(path)) != hash);
}

TEST_CASE("a GGUF header of more than 256 MiB is refused (G3, L8)")
{
    const ScratchFolder scratch;
    const auto path = scratch.path() / "long.gguf";
    {
        std::ofstream file(path, std::ios::binary);
        file << Bytes("GGUF").number(uint32_t{3}).number(uint64_t{0}).number(uint64_t{3}).text();
        for (const char* key : {"a", "b", "c"}) { // arrays of 2^24 zeros of 8 bytes, as file holes
            file << Bytes().counted(key).number(uint32_t{9}).number(uint32_t{10}).number(uint64_t{1} << 24).text();
            file.seekp(int64_t{1} << 27, std::ios::cur);
        }
        file << '\0';
    }
    check(refused([&] { open_model(path); }), "03", "the header is longer than 268435456 bytes");
}

TEST_CASE("G16 notices files that are rewritten, replaced or removed")
{
    const ScratchFolder scratch;
    const auto path = scratch.path() / "file";
    const std::string text(10000, 'x');
    const auto unchanged = [](const std::shared_ptr<MappedFile>& file) {
        return refused([&] { file->check_unchanged(); });
    };
    write(path, text);
    auto file = MappedFile::open(path, 1 << 20, ErrorCode::ModelG1);
    CHECK(unchanged(file).code.empty());
    const timespec times[2] = {{0, UTIME_OMIT}, {1000, 0}};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    check(unchanged(file), "16", "the file was rewritten while it was read");

    file = MappedFile::open(path, 1 << 20, ErrorCode::ModelG1);
    write(scratch.path() / "other", text);
    std::filesystem::rename(scratch.path() / "other", path);
    check(unchanged(file), "16", "the file was replaced or removed");
    CHECK(file->text() == text); // the descriptor keeps the old file

    file = MappedFile::open(path, 1 << 20, ErrorCode::ModelG1);
    std::filesystem::remove(path);
    check(unchanged(file), "16", "the file was replaced or removed");
}

TEST_CASE("G16: a file that shrinks under its mapping is an error, not a signal")
{
    const ScratchFolder scratch;
    const auto path = scratch.path() / "tiny.gguf";
    write(path, tiny_gguf().build().text());
    const auto model = open_model(path);
    std::filesystem::resize_file(path, 100);
    touch(model); // pages beyond the new end read as zeros
    check(refused([&] { model.mappings[0]->check_unchanged(); }), "16", "and has 100 now");
    check(refused([&] { full_hash(model); }), "16", "and has 100 now");
    std::filesystem::resize_file(path, model.file_bytes); // restoring the size does not restore the pages
    check(refused([&] { model.mappings[0]->check_unchanged(); }), "16", "a part of the file could not be read");
}

TEST_CASE("300 mappings can be closed and another one opened afterwards")
{
    const ScratchFolder scratch;
    write(scratch.path() / "file", "x");
    std::vector<std::shared_ptr<MappedFile>> files;
    for (int i = 0; i < 300; ++i)
        files.push_back(MappedFile::open(scratch.path() / "file", 10, ErrorCode::ModelG1));
    files.clear();
    CHECK(MappedFile::open(scratch.path() / "file", 10, ErrorCode::ModelG1)->text() == "x");
}
