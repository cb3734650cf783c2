// Tensors of every type in a GGUF file, and the errors of each type that are refused.

#include <optional>
#include <string>

#include "engine/model/files/gguf_file.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/gguf_builder.h"
#include "tests/support/fixtures/refused.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using kernels::DType;

namespace {

struct FileType {
    uint32_t id;
    DType type;
};
constexpr FileType file_types[] = {{0, DType::F32},     {1, DType::F16},     {2, DType::Q4_0},  {3, DType::Q4_1},
                                   {6, DType::Q5_0},    {7, DType::Q5_1},    {8, DType::Q8_0},  {10, DType::Q2_K},
                                   {11, DType::Q3_K},   {12, DType::Q4_K},   {13, DType::Q5_K}, {14, DType::Q6_K},
                                   {20, DType::IQ4_NL}, {23, DType::IQ4_XS}, {30, DType::BF16}, {39, DType::MXFP4}};
static_assert(std::size(file_types) == kernels::dtype_count);

constexpr uint64_t rows = 3, blocks = 2; // blocks per row

// One tensor of three rows, with all their bytes.
GgufBuilder file_of(const FileType& file_type)
{
    const auto& info = kernels::info(file_type.type);
    GgufBuilder builder;
    GgufBuilder::Tensor tensor{"weight", {blocks * static_cast<uint64_t>(info.block), rows}, file_type.id, {}, {}};
    tensor.data.pad_to(rows * blocks * static_cast<uint64_t>(info.bytes));
    builder.tensors = {tensor};
    return builder;
}

Refused parse(const Bytes& bytes)
{
    return refused([&] { GgufFile::parse(bytes.get(), Refusal("types.gguf")); });
}

void check(const Refused& refusal, const std::string& code, const std::string& part)
{
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
    CHECK(refusal.message.find('\n') == std::string::npos);
}

} // namespace

TEST_CASE("a tensor of every type is found with the bytes of its blocks")
{
    for (const FileType& file_type : file_types) {
        const auto& info = kernels::info(file_type.type);
        INFO(info.name);
        const Bytes bytes = file_of(file_type).build();
        const auto file = GgufFile::parse(bytes.get(), Refusal("types.gguf"));
        REQUIRE(file.tensors().size() == 1);
        CHECK(file.tensors()[0].type == file_type.type);
        CHECK(file.tensors()[0].bytes == rows * blocks * static_cast<uint64_t>(info.bytes));
    }
}

TEST_CASE("a row that is not a whole number of blocks is refused")
{
    for (const FileType& file_type : file_types) {
        const auto& info = kernels::info(file_type.type);
        if (info.block == 1) continue;
        for (const int more : {1, -1, info.block / 2}) {
            auto builder = file_of(file_type);
            builder.tensors[0].dims[0] += static_cast<uint64_t>(static_cast<int64_t>(more));
            check(parse(builder.build()), "09",
                  "not a multiple of the " + std::to_string(info.block) + " of a " + std::string(info.name) +
                      " block");
        }
    }
}

TEST_CASE("a tensor that needs more bytes than the file has is refused")
{
    for (const FileType& file_type : file_types) {
        INFO(kernels::info(file_type.type).name);
        const Bytes whole = file_of(file_type).build();
        check(parse(Bytes(whole).cut_to(whole.size() - 1)), "10", "the file is truncated");
        auto builder = file_of(file_type);
        builder.tensors[0].dims[1] = rows + 64; // more rows than data
        check(parse(builder.build()), "10", "the file is truncated");
        builder = file_of(file_type);
        builder.claimed_tensors = 2;
        CHECK(!parse(builder.build()).code.empty());
    }
}

TEST_CASE("a tensor of any type with a misaligned or overlapping offset is refused")
{
    for (const FileType& file_type : file_types) {
        INFO(kernels::info(file_type.type).name);
        for (const uint64_t offset : {uint64_t{8}, uint64_t{17}}) {
            auto builder = file_of(file_type);
            builder.tensors[0].offset = offset;
            check(parse(builder.build()), "10", "not a multiple of the alignment 32");
        }
        auto builder = file_of(file_type);
        builder.tensors[0].offset = uint64_t{1} << 60;
        check(parse(builder.build()), "10", "the file is truncated");
        builder = file_of(file_type);
        builder.tensors.push_back(builder.tensors[0]);
        builder.tensors[1].name = "other";
        builder.tensors[1].offset = 0;
        check(parse(builder.build()), "10", "overlap at byte");
    }
}

TEST_CASE("an unsupported type is refused by name or number")
{
    struct Foreign {
        uint32_t id;
        const char* name;
    };
    for (const Foreign& foreign : {Foreign{16, "iq2_xxs"},
                                   {21, "iq3_s"},
                                   {29, "iq1_m"},
                                   {34, "tq1_0"},
                                   {35, "tq2_0"},
                                   {36, "iq4_nl_4_4"},
                                   {40, "nvfp4"},
                                   {4, "number 4"},
                                   {99, "number 99"}}) {
        auto builder = file_of(file_types[0]);
        builder.tensors[0].type = foreign.id;
        check(parse(builder.build()), "09", "tensor type " + std::string(foreign.name) + " is not supported");
    }
}
