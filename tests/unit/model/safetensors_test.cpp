// docs/validation.md, S1 to S7: one broken header for each rule.

#include "engine/model/files/safetensors_file.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

SafetensorsFile parse(const Bytes& bytes)
{
    return parse_safetensors(bytes.get(), Refusal("model.safetensors"));
}

void check(const Bytes& bytes, const std::string& code, const std::string& part)
{
    const Refused refusal = refused([&] { parse(bytes); });
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

void check_header(const std::string& header, const std::string& code, const std::string& part)
{
    INFO(header.substr(0, 200));
    check(safetensors_with_header(header, Bytes().pad_to(8)), code, part);
}

// A header with one tensor; the file has 8 bytes of data.
std::string one(const std::string& entry)
{
    return "{\"t\":" + entry + "}";
}

} // namespace

TEST_CASE("a valid safetensors file is read")
{
    const Bytes bytes = safetensors(tiny_safetensors());
    const auto file = parse(bytes);
    CHECK(file.tensors.size() == 12);
    uint64_t next = file.header_bytes;
    for (const auto& tensor : file.tensors) {
        CHECK(tensor.offset == next);
        next += tensor.bytes;
    }
    CHECK(next == bytes.size());
    CHECK(parse(safetensors_with_header("{}")).tensors.empty());
    const auto scalar = parse(safetensors_with_header(R"({"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                                                      R"("b":{"dtype":"U8","shape":[0,5],"data_offsets":[8,8]}}  )",
                                                      Bytes().pad_to(8)));
    CHECK(scalar.tensors[0].shape.empty());
    CHECK_FALSE(scalar.tensors[0].type.has_value());
    CHECK(scalar.tensors[1].bytes == 0);
}

TEST_CASE("S1 checks the length of the header")
{
    check(Bytes().pad_to(9), "S1", "the file has 9 bytes, a safetensors file at least 10");
    check(Bytes().number(uint64_t{1}).append("{}"), "S1", "its header has 1 bytes");
    check(Bytes().number(UINT64_MAX).append("{}"), "S1", "its header has 18446744073709551615 bytes");
    check(Bytes().number(uint64_t{1000}).append("{}"), "S1",
          "its header ends at byte 1008 but the file has 10 bytes");
    check(safetensors_with_header(" {}"), "S1", "does not begin with '{'");
}

TEST_CASE("S2 accepts only strict JSON")
{
    check_header("{\"t\":{\"dtype\"", "S2", "not valid JSON");
    check_header("{} x", "S2", "not valid JSON");
    check_header("{/* */}", "S2", "not valid JSON");
    check_header(std::string("{}\0\0", 4), "S2", "a NUL byte");
    check_header("{\"a\xFF\":1}", "S2", "not valid JSON");
    check_header("{\"t\":NaN}", "S2", "not valid JSON");
    check_header(R"({"t":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "S2",
                 "'dtype' comes twice");
    check_header(one("[[[[1]]]]"), "S2", "nested deeper than 4 levels");
    std::string deep = "{\"a\":";
    deep += std::string(1'000'000, '[');
    check_header(deep, "S2", "nested deeper than 4 levels");
}

TEST_CASE("S3 checks each entry")
{
    check_header(one("1"), "S3", "does not have exactly dtype, shape and data_offsets");
    check_header(one(R"({"dtype":"U8","shape":[8]})"), "S3", "does not have exactly");
    check_header(one(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8],"more":1})"), "S3", "does not have exactly");
    check_header(one(R"({"dtype":"Q8","shape":[8],"data_offsets":[0,8]})"), "S3", "unknown dtype 'Q8'");
    check_header(one(R"({"dtype":8,"shape":[8],"data_offsets":[0,8]})"), "S3", "a dtype that is not a string");
    check_header(R"({"":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "S3", "a name of 0 bytes");
    check_header("{\"" + std::string(257, 'n') + R"(":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", "S3",
                 "a name of 257 bytes");
    std::string many = "{";
    for (int i = 0; i < 65538; ++i)
        many += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
    check_header(many + "}", "S3", "65538 tensors, the limit is 65536");
}

TEST_CASE("S4 checks shapes")
{
    const auto shaped = [](const std::string& shape) {
        return one(R"({"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,8]})");
    };
    check_header(shaped("8"), "S4", "not a list of at most 8 dimensions");
    check_header(shaped("[1,1,1,1,1,1,1,1,8]"), "S4", "not a list of at most 8 dimensions");
    for (const char* dim : {"8.0", "8e0", "-8", "\"8\"", "281474976710657", "18446744073709551616", "true"})
        check_header(shaped("[" + std::string(dim) + "]"), "S4", "not an integer from 0 to 2^48");
    check_header(shaped("[4294967296,4294967296]"), "S4", "more than 2^48 elements"); // the product wraps to 0
}

TEST_CASE("S5 compares offsets with shape and file")
{
    const auto at = [](const std::string& offsets, const std::string& dtype = "U8",
                       const std::string& shape = "[8]") {
        return one("{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}");
    };
    check_header(at("[0]"), "S5", "data_offsets that are not two integers");
    check_header(at("[0,8.0]"), "S5", "data_offsets that are not two integers");
    check_header(at("[-1,8]"), "S5", "data_offsets that are not two integers");
    check_header(at("{}"), "S5", "data_offsets that are not two integers");
    check_header(at("[8,0]"), "S5", "begins at 8 after its end 0");
    check_header(at("[1,9]"), "S5", "ends at byte 9 of the data but the file has 8");
    check_header(at("[0,18446744073709551615]"), "S5", "the file is truncated");
    check_header(at("[0,7]"), "S5", "has 7 bytes, its shape and dtype need 8");
    check_header(at("[0,8]", "F32"), "S5", "has 8 bytes, its shape and dtype need 32");
    check_header(at("[0,8]", "F4", "[15]"), "S5", "does not fill whole bytes");
    CHECK(parse(safetensors_with_header(at("[0,8]", "F4", "[16]"), Bytes().pad_to(8))).tensors.size() == 1);
}

TEST_CASE("S6 refuses gaps and overlaps between tensors, and bytes after the last one")
{
    const auto two = [](const char* a, const char* b) {
        return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
               R"(},"b":{"dtype":"U8","shape":[3],"data_offsets":)" + b + "}}";
    };
    check_header(two("[0,4]", "[5,8]"), "S6", "tensor 'b' begins at byte");
    check_header(two("[0,4]", "[3,6]"), "S6", "tensor 'b' begins at byte");
    check_header(two("[1,5]", "[5,8]"), "S6", "tensor 'a' begins at byte");
    check_header(two("[0,4]", "[4,7]"), "S6", "the last tensor ends at byte");
    check_header("{}", "S6", "the last tensor ends at byte 10 but the file has 18 bytes");
}

TEST_CASE("S7 accepts only strings as metadata")
{
    check_header(R"({"__metadata__":1})", "S7", "is not an object");
    check_header(R"({"__metadata__":{"a":1}})", "S7", "not a string: 'a'");
    check_header(R"({"__metadata__":{"a":")" + std::string(1 << 20, 'x') + "\"}}", "S7", "the limit is 1048576");
}
