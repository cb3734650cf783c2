// Models that are split into several GGUF files.

#include <fstream>

#include "engine/model/files/gguf_model.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/open_model.h"
#include "engine/model/files/split_files.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/scratch_folder.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

// The tiny model in three files; the first one has no tensors.
class SplitModel {
public:
    std::vector<GgufBuilder> parts;

    SplitModel()
    {
        const GgufBuilder whole = tiny_gguf();
        parts.assign(3, {});
        parts[0] = whole;
        parts[0].tensors.clear();
        for (size_t i = 0; i < whole.tensors.size(); ++i)
            parts[1 + i % 2].tensors.push_back(whole.tensors[i]);
        for (uint16_t i = 0; i < 3; ++i) {
            parts[i].add_raw("split.no", 2, Bytes().number(i)); // uint16, as other programs write it
            parts[i].add_raw("split.count", 2, Bytes().number(uint16_t{3}));
            parts[i].set_i32("split.tensors.count", static_cast<int32_t>(whole.tensors.size()));
        }
    }
    std::filesystem::path part(int number) const
    {
        return folder_.path() / ("tiny-0000" + std::to_string(number) + "-of-00003.gguf");
    }
    void write() const
    {
        for (int i = 0; i < 3; ++i) {
            const auto bytes = parts[static_cast<size_t>(i)].build();
            std::ofstream(part(i + 1), std::ios::binary) << bytes.text();
        }
    }

private:
    ScratchFolder folder_;
};

void check_refused(const std::filesystem::path& path, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { open_model(path); });
    INFO(refusal.message);
    CHECK(refusal.code == code);
    CHECK(refusal.says(part));
}

} // namespace

TEST_CASE("any part of a split model opens all of it")
{
    const SplitModel split;
    split.write();
    const ModelFiles model = open_model(split.part(1));
    const ModelFiles whole = open_gguf(in_memory(tiny_gguf().build(), "tiny.gguf"));
    CHECK(touch(model) == touch(whole));
    CHECK(model.tensors.size() == whole.tensors.size());
    CHECK(model.vocabulary.pieces == whole.vocabulary.pieces);
    CHECK(model.mappings.size() == 3);
    uint64_t bytes = 0;
    for (int i = 1; i <= 3; ++i)
        bytes += std::filesystem::file_size(split.part(i));
    CHECK(model.file_bytes == bytes);
    for (int i = 2; i <= 3; ++i) {
        const ModelFiles same = open_model(split.part(i));
        CHECK(same.fingerprint == model.fingerprint);
        CHECK(full_hash(same) == full_hash(model));
    }
}

TEST_CASE("the fingerprint and the hash of a split model depend on every part")
{
    SplitModel split;
    split.write();
    const ModelFiles before = open_model(split.part(1));
    const std::string fingerprint = before.fingerprint, hash = full_hash(before);
    split.parts[2].tensors.back().data = Bytes().pad_to(split.parts[2].tensors.back().data.size());
    split.write();
    const ModelFiles after = open_model(split.part(1));
    CHECK(after.fingerprint != fingerprint);
    CHECK(full_hash(after) != hash);
}

TEST_CASE("a missing part is named")
{
    const SplitModel split;
    split.write();
    std::filesystem::remove(split.part(2));
    check_refused(split.part(1), "PAL-MODEL-18",
                  "it is one of 3 parts, and 'tiny-00002-of-00003.gguf' is not beside");
    check_refused(split.part(2), "PAL-MODEL-01", "");
}

TEST_CASE("parts whose metadata contradict their file names or one another are refused")
{
    SplitModel split;
    std::swap(split.parts[1], split.parts[2]);
    split.write();
    check_refused(split.part(1), "PAL-MODEL-18", "by its metadata it is part 3 of 3, by its name part 2 of 3");
    std::filesystem::rename(split.part(1), split.part(1).parent_path() / "renamed.gguf");
    check_refused(split.part(1).parent_path() / "renamed.gguf", "PAL-MODEL-18",
                  "by its metadata it is part 1 of 3, by its name part 1 of 1");

    SplitModel twice;
    twice.parts[2].tensors.push_back(twice.parts[1].tensors.front());
    twice.parts[0].remove("split.tensors.count");
    twice.write();
    check_refused(twice.part(1), "PAL-MODEL-18", "tensor 'token_embd.weight' is in another part as well");
    SplitModel fewer;
    fewer.parts[1].tensors.pop_back();
    fewer.write();
    check_refused(fewer.part(1), "PAL-MODEL-18", "its parts have 11 tensors, but 12 are claimed");
    SplitModel negative;
    negative.parts[0].remove("split.count");
    negative.parts[0].set_i32("split.count", -3);
    negative.write();
    check_refused(negative.part(1), "PAL-MODEL-11", "'split.count' is not an integer of 0 or more");
}

TEST_CASE("a truncated part is refused under its own name")
{
    const SplitModel split;
    split.write();
    std::filesystem::resize_file(split.part(2), std::filesystem::file_size(split.part(2)) - 1);
    check_refused(split.part(1), "PAL-MODEL-10", "tiny-00002-of-00003.gguf");
    check_refused(split.part(3), "PAL-MODEL-10", "the file is truncated");
}

TEST_CASE("a file whose name is not that of a part is opened alone")
{
    const auto alone = [](const std::string& name) {
        return split_parts(std::filesystem::path("models") / name).size() == 1;
    };
    CHECK_FALSE(alone("a-00001-of-00002.gguf"));
    for (const char* name : {"a.gguf", "a-00001-of-00001.txt", "a-00003-of-00002.gguf", "a-00000-of-00002.gguf",
                             "a-0001-of-0002.gguf", "a-00001-of-99999.gguf", "-of-00002.gguf", "00002.gguf"})
        CHECK(alone(name));
    const auto parts = split_parts("models/a-00002-of-00002.gguf");
    CHECK(parts[0] == "models/a-00001-of-00002.gguf");
}
