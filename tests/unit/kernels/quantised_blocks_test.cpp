// Blocks of every weight type, compared with the values of the gguf Python package (tests/fixtures/weights).

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/base/convert.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"

using namespace palimpsest::kernels;

namespace {

struct Blocks {
    DType type;
    std::vector<char> bytes;
    std::vector<float> values;
};

DType type_named(const std::string& name)
{
    for (int i = 0; i < dtype_count; ++i)
        if (info(static_cast<DType>(i)).name == name) return static_cast<DType>(i);
    FAIL("unknown type " << name);
    return DType::F32;
}

template<class T>
std::vector<T> take(std::istream& from, size_t count)
{
    std::vector<T> taken(count);
    from.read(reinterpret_cast<char*>(taken.data()), static_cast<std::streamsize>(count * sizeof(T)));
    REQUIRE(from.good());
    return taken;
}

std::vector<Blocks> stored_blocks()
{
    std::ifstream file(palimpsest::tests::source_file("tests/fixtures/weights/blocks.bin"), std::ios::binary);
    REQUIRE(file.good());
    std::vector<Blocks> all;
    while (file.peek() != std::ifstream::traits_type::eof()) {
        const auto name = take<char>(file, 8);
        const DType type = type_named(std::string(name.begin(), std::find(name.begin(), name.end(), '\0')));
        const auto elements = static_cast<int64_t>(take<uint32_t>(file, 1).front());
        auto bytes = take<char>(file, static_cast<size_t>(row_bytes(type, elements)));
        all.push_back({type, std::move(bytes), take<float>(file, static_cast<size_t>(elements))});
    }
    return all;
}

bool same_bits(const float* a, const float* b, size_t count)
{
    return std::memcmp(a, b, count * sizeof(float)) == 0;
}

} // namespace

TEST_CASE("blocks of every type have the values of the gguf package, bit for bit", "[blocks]")
{
    const auto all = stored_blocks();
    REQUIRE(all.size() == dtype_count - 1); // all but f32
    for (const Blocks& blocks : all) {
        INFO(info(blocks.type).name);
        std::vector<float> got(blocks.values.size());
        to_f32(blocks.type, blocks.bytes.data(), got.data(), static_cast<int64_t>(got.size()));
        CHECK(same_bits(got.data(), blocks.values.data(), got.size()));
    }
}

TEST_CASE("converting part of a block writes nothing beyond it", "[blocks]")
{
    for (const Blocks& blocks : stored_blocks()) {
        const auto block = static_cast<size_t>(info(blocks.type).block);
        for (const size_t count : {size_t{1}, block / 2 + 1, block + block / 2}) {
            INFO(info(blocks.type).name << ", " << count << " elements");
            std::vector<float> got(count + 1, -7.0f);
            to_f32(blocks.type, blocks.bytes.data(), got.data(), static_cast<int64_t>(count));
            CHECK(same_bits(got.data(), blocks.values.data(), count));
            CHECK(got.back() == -7.0f);
        }
    }
}
