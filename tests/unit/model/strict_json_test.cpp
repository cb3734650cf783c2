
#include "engine/model/files/strict_json.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

nlohmann::json parse(std::string_view text, JsonLimits limits = {4, 100})
{
    return parse_strict_json(text, limits, Refusal("a.json"), ErrorCode::ModelC1);
}

void check(std::string_view text, const std::string& part)
{
    const Refused refusal = refused([&] { parse(text); });
    INFO(text << ": " << refusal.message);
    CHECK(refusal.code == "PAL-MODEL-C1");
    CHECK(refusal.says(part));
}

} // namespace

TEST_CASE("every kind of JSON value is parsed")
{
    const auto root = parse(R"({"a":[1,-2,3.5,true,null,"x",{"b":[]}],"c":{}})");
    CHECK(root.dump() == R"({"a":[1,-2,3.5,true,null,"x",{"b":[]}],"c":{}})");
    CHECK(parse("7") == 7);
    CHECK(parse("[[1],[2,[3]],4]").dump() == "[[1],[2,[3]],4]");
}

TEST_CASE("text that is not strict JSON is refused")
{
    for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "[01]", "[1e999]", "[Infinity]", "['a']", "// x\n1",
                             "1 2", "[\"\\ud800\"]", "[\"\t\"]"})
        check(text, "not valid JSON");
    check("\xEF\xBB\xBF{}", "byte order mark");
    check(std::string_view("1\0", 2), "a NUL byte");
    check(R"({"a":1,"b":{"c":1,"c":2}})", "the key 'c' comes twice");
    check(R"({"a":1,"\u0061":2})", "the key 'a' comes twice");
}

TEST_CASE("nesting depth and number of values are limited")
{
    CHECK(parse("[[[[1]]]]").is_array());
    check("[[[[[1]]]]]", "nested deeper than 4 levels");
    check("{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}", "nested deeper than 4 levels");
    std::string many = "[0";
    for (int i = 0; i < 98; ++i)
        many += ",0";
    CHECK(parse(many + "]").size() == 99);
    check(many + ",0]", "more than 100 values");
    check(many + ",[]]", "more than 100 values");
}
