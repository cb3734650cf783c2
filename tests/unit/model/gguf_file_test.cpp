// One broken file for each of the rules in docs/validation.md, G1 to G11.

#include "engine/model/files/gguf_file.h"
#include "engine/model/files/gguf_model.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

Refused open(const Bytes& bytes)
{
    return refused([&] { open_gguf(in_memory(bytes, "tiny.gguf")); });
}

Refused open(const GgufBuilder& builder)
{
    return open(builder.build());
}

void check(const Refused& refusal, const std::string& code, const std::string& part)
{
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

} // namespace

TEST_CASE("a valid GGUF file is accepted in both versions")
{
    auto builder = tiny_gguf();
    for (const uint32_t version : {2u, 3u}) {
        builder.version = version;
        const auto model = open_gguf(in_memory(builder.build(), "tiny.gguf"));
        CHECK(model.format == "GGUF v" + std::to_string(version));
        CHECK(model.warnings.empty());
        CHECK(model.parameters > 0);
        touch(model);
    }
}

TEST_CASE("G1 refuses files that are not GGUF files")
{
    check(open(Bytes("GGUF").pad_to(23)), "01", "the file has 23 bytes, a GGUF file at least 24");
    auto builder = tiny_gguf();
    builder.magic = "GGML";
    check(open(builder), "01", "does not begin with GGUF");
}

TEST_CASE("G2 refuses unknown versions and big-endian files")
{
    auto builder = tiny_gguf();
    builder.version = 1;
    check(open(builder), "02", "unknown GGUF version 1");
    builder.version = 0x03000000;
    check(open(builder), "02", "big-endian file");
}

TEST_CASE("G3 compares claimed counts with the bytes that follow")
{
    auto builder = tiny_gguf();
    builder.claimed_pairs = uint64_t{1} << 40;
    check(open(builder), "03", "1099511627776 metadata entries, the limit is 65536");
    builder.claimed_pairs = 65000;
    check(open(builder), "03", "65000 metadata entries but only");
    builder.claimed_pairs.reset();
    builder.claimed_tensors = UINT64_MAX;
    check(open(builder), "03", "18446744073709551615 tensors, the limit is 65536");
    builder.claimed_tensors = 65536;
    check(open(builder), "03", "65536 tensors but only");
}

TEST_CASE("G4 checks the length of a string before it reads it")
{
    auto builder = tiny_gguf();
    builder.set_u32(std::string(257, 'k'), 1);
    check(open(builder), "04", "a metadata key has 257 bytes, the limit is 256");

    builder = tiny_gguf();
    builder.set_u32("", 1);
    check(open(builder), "04", "a metadata key is empty");

    builder = tiny_gguf();
    builder.set_u32(std::string("a\0b", 3), 1);
    check(open(builder), "04", "'a\\x00b' is not valid UTF-8");

    builder = tiny_gguf();
    builder.set_u32("a\xC3", 1);
    check(open(builder), "04", "'a\\xc3' is not valid UTF-8");

    builder = tiny_gguf();
    builder.add_raw("long", 8, Bytes().number(uint64_t{1} << 62));
    check(open(builder), "04", "the value of 'long' has 4611686018427387904 bytes, the limit is 16777216");

    builder = tiny_gguf();
    builder.add_raw("long", 8, Bytes().number(uint64_t{1} << 24));
    check(open(builder), "04", "the file is truncated");

    builder = tiny_gguf();
    builder.tensors[3].name = std::string(64, 't');
    check(open(builder), "04", "a tensor name has 64 bytes, the limit is 63");
}

TEST_CASE("G5 checks value types, arrays and booleans")
{
    auto builder = tiny_gguf();
    builder.add_raw("odd", 13, Bytes());
    check(open(builder), "05", "'odd' has the unknown value type 13");

    builder = tiny_gguf();
    builder.add_raw("nested", 9, Bytes().number(uint32_t{9}).number(uint64_t{0}));
    check(open(builder), "05", "'nested' is an array of arrays");

    builder = tiny_gguf();
    builder.add_raw("odd", 9, Bytes().number(uint32_t{77}).number(uint64_t{0}));
    check(open(builder), "05", "unknown value type 77");

    builder = tiny_gguf();
    builder.add_raw("huge", 9, Bytes().number(uint32_t{10}).number(uint64_t{1} << 61)); // times 8 wraps to 0
    check(open(builder), "05", "2305843009213693952 elements, the limit is 16777216");

    builder = tiny_gguf();
    builder.add_raw("long", 9, Bytes().number(uint32_t{4}).number(uint64_t{1} << 24));
    check(open(builder), "05", "'long' needs 67108864 bytes");

    builder = tiny_gguf();
    builder.add_raw("strings", 9, Bytes().number(uint32_t{8}).number(uint64_t{1} << 24));
    check(open(builder), "05", "'strings' needs 134217728 bytes");

    builder = tiny_gguf();
    builder.set_bool("truth", 2);
    check(open(builder), "05", "'truth' is 2 but a truth value is 0 or 1");

    builder = tiny_gguf();
    builder.add_raw("truths", 9,
                    Bytes().number(uint32_t{7}).number(uint64_t{2}).number(uint8_t{1}).number(uint8_t{255}));
    check(open(builder), "05", "'truths' is 255");

    GgufBuilder short_file;
    short_file.add_raw("number", 10, Bytes().number(uint32_t{1}));
    check(open(short_file), "05", "the value of 'number' needs 8 bytes at byte 42 but the file has");
}

TEST_CASE("G6 refuses duplicate names")
{
    auto builder = tiny_gguf();
    builder.add_raw("general.name", 8, Bytes().counted("again"));
    check(open(builder), "06", "'general.name' comes twice");

    builder = tiny_gguf();
    builder.tensors.push_back(builder.tensors[0]);
    check(open(builder), "06", "'token_embd.weight' comes twice");
}

TEST_CASE("G7 checks the alignment")
{
    for (const uint32_t alignment : {0u, 4u, 24u, 131072u}) {
        auto builder = tiny_gguf();
        builder.set_u32("general.alignment", alignment);
        check(open(builder), "07", "'general.alignment' is " + std::to_string(alignment));
    }
    auto builder = tiny_gguf();
    builder.set_i32("general.alignment", 32);
    check(open(builder), "07", "has type int32, expected uint32");

    for (const uint32_t alignment : {8u, 64u, 4096u}) {
        builder = tiny_gguf();
        builder.set_u32("general.alignment", alignment);
        builder.alignment = alignment;
        CHECK(open(builder).code.empty());
    }
}

TEST_CASE("G8 checks shapes")
{
    auto builder = tiny_gguf();
    builder.tensors[1].dims = {};
    check(open(builder), "08", "0 dimensions, expected 1 to 4");
    builder.tensors[1].dims = {1, 1, 1, 1, 32};
    check(open(builder), "08", "5 dimensions, expected 1 to 4");
    builder.tensors[1].dims = {32, 0};
    check(open(builder), "08", "a dimension of 0");
    builder.tensors[1].dims = {UINT64_MAX};
    check(open(builder), "08", "a dimension of 18446744073709551615");
    builder.tensors[1].dims = {uint64_t{1} << 40, uint64_t{1} << 24}; // the product wraps to 0
    check(open(builder), "08", "'blk.0.attn_norm.weight' has more than 2^48 elements");
}

TEST_CASE("G9 refuses unsupported types and names them")
{
    auto builder = tiny_gguf();
    builder.tensors[2].type = 16;
    check(open(builder), "09", "tensor type iq2_xxs is not supported (tensor 'blk.0.attn_q.weight')");
    check(open(builder), "09", "use a file of another quantisation, such as Q4_K_M or Q8_0");
    builder.tensors[2].type = 4;
    check(open(builder), "09", "tensor type number 4 is not supported");
    builder.tensors[2].type = 8;
    builder.tensors[2].dims = {33, 31};
    check(open(builder), "09", "rows of 33 elements, not a multiple of the 32 of a q8_0 block");
    builder.tensors[2].type = 0;
    builder.tensors[2].dims = {uint64_t{1} << 40, 256};
    check(open(builder), "09", "is larger than any file");
}

TEST_CASE("G10 refuses tensors that are misaligned, overlap, or end outside the file")
{
    auto builder = tiny_gguf();
    const Bytes whole = builder.build();
    const size_t end = whole.size();
    check(open(Bytes(whole).cut_to(end - 1)), "10",
          "tensor 'output.weight' ends at byte " + std::to_string(end) + " but the file has " +
              std::to_string(end - 1) + " bytes: the file is truncated; download it again");

    builder.tensors[4].offset = 8;
    check(open(builder), "10", "begins at offset 8, not a multiple of the alignment 32");
    builder.tensors[4].offset = UINT64_MAX - 31;
    check(open(builder), "10", "beyond any file");
    builder.tensors[4].offset = uint64_t{1} << 60;
    check(open(builder), "10", "the file is truncated");
    builder.tensors[4].offset = 0;
    check(open(builder), "10", "'blk.0.attn_v.weight'");
    check(open(builder), "10", "overlap at byte");
}

TEST_CASE("G11 refuses values of another type or length")
{
    auto builder = tiny_gguf();
    builder.set_i32("llama.block_count", 1);
    check(open(builder), "11", "'llama.block_count' has type int32, expected uint32");

    builder = tiny_gguf();
    builder.set_ints("tokenizer.ggml.scores", std::vector<int32_t>(270, 0));
    check(open(builder), "11", "'tokenizer.ggml.scores' has elements of type int32, expected float32");

    builder = tiny_gguf();
    builder.set_floats("tokenizer.ggml.scores", std::vector<float>(269, 0.0f));
    check(open(builder), "11", "'tokenizer.ggml.scores' has 269 elements, expected 270");

    builder = tiny_gguf();
    builder.remove("tokenizer.ggml.token_type");
    check(open(builder), "11", "'tokenizer.ggml.token_type' is missing");

    builder = tiny_gguf();
    builder.set_string("tokenizer.ggml.add_bos_token", "yes");
    check(open(builder), "11", "has type string, expected bool");
}

TEST_CASE("a string array longer than any vocabulary is refused before it is copied")
{
    GgufBuilder builder;
    builder.set_strings("many", std::vector<std::string>(5, "x"));
    const Bytes bytes = builder.build();
    const Refusal refuse("many.gguf");
    const auto file = GgufFile::parse(bytes.get(), refuse);
    CHECK(file.string_array("many", 5).size() == 5);
    check(refused([&] { file.string_array("many", 4); }), "11", "'many' has 5 elements, the limit is 4");
}
