// Changing one key of config.json leaves the rest of the file as it was written.

#include "storage/models/config_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "storage/user_folders.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::test::refused;

namespace fs = std::filesystem;

namespace {

nlohmann::json parsed(const std::string& text)
{
    return nlohmann::json::parse(text, nullptr, true, true);
}

class OwnConfig {
public:
    OwnConfig() : before_(std::getenv("XDG_CONFIG_HOME"))
    {
        std::string name = (fs::temp_directory_path() / "palimpsest-config-XXXXXX").string();
        folder_ = mkdtemp(name.data());
        setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    }
    ~OwnConfig()
    {
        setenv("XDG_CONFIG_HOME", before_.c_str(), 1);
        fs::remove_all(folder_);
    }
    OwnConfig(const OwnConfig&) = delete;
    OwnConfig& operator=(const OwnConfig&) = delete;

    void write(const std::string& text) const
    {
        fs::create_directories(fs::path(config_path()).parent_path());
        std::ofstream(config_path()) << text;
    }
    std::string text() const
    {
        std::ifstream file(config_path());
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string before_;
    fs::path folder_;
};

} // namespace

TEST_CASE("a key is replaced, added and removed, and the rest keeps its comments")
{
    const std::string text = "{\n  // the budget\n  \"budget\": 40, /* } */ \"model\" : \"old\",\n"
                             "  \"nested\": {\"model\": [1, \"}\\\"\", {}]} // end\n}\n";
    const std::string replaced = with_key(text, "model", "new \"name\"");
    CHECK(replaced == "{\n  // the budget\n  \"budget\": 40, /* } */ \"model\" : \"new \\\"name\\\"\",\n"
                      "  \"nested\": {\"model\": [1, \"}\\\"\", {}]} // end\n}\n");
    CHECK(parsed(with_key(text, "policy", "h2o"))["policy"] == "h2o");
    CHECK(with_key(text, "policy", "h2o").find("// the budget") != std::string::npos);

    auto expected = parsed(text);
    expected.erase("model");
    CHECK(parsed(with_key(text, "model", std::nullopt)) == expected);
    CHECK(with_key(text, "policy", std::nullopt) == text);
}

TEST_CASE("a key can be changed at every place of an object")
{
    const std::vector<std::string> texts = {"{}",
                                            " { } ",
                                            "{ /* nothing */ }",
                                            R"({"model":"a"})",
                                            R"({"model":"a","b":-1.5e3})",
                                            R"({"b":true,"model":"a"})",
                                            "{\"b\":null,\n// \"model\": \"no\"\n\"model\":\"a\"}",
                                            R"({"b":[[],{"x":"]"}],"model":{"y":1},"c":"d"})",
                                            "{\"b\": 1 // last\n}"};
    for (const std::string& text : texts) {
        INFO(text);
        auto expected = parsed(text);
        expected["model"] = "x";
        CHECK(parsed(with_key(text, "model", "x")) == expected);
        expected.erase("model");
        CHECK(parsed(with_key(text, "model", std::nullopt)) == expected);
        CHECK(parsed(with_key(with_key(text, "model", "x"), "model", std::nullopt)) == expected);
    }
}

TEST_CASE("config.json is created, replaced through a link with its mode, and not changed if it is no object")
{
    const OwnConfig config;
    CHECK(read_config().empty());
    write_config("model", std::nullopt);
    CHECK_FALSE(fs::exists(config_path()));
    write_config("model", "one");
    CHECK(read_config()["model"] == "one");
    struct stat made = {};
    REQUIRE(stat(config_path().c_str(), &made) == 0);
    CHECK((made.st_mode & 0777) == 0600);

    const fs::path real = fs::path(config_path()).parent_path() / "kept-elsewhere.json";
    fs::rename(config_path(), real);
    fs::create_symlink(real, config_path());
    chmod(real.c_str(), 0640);
    write_config("model", "two");
    CHECK(fs::is_symlink(config_path()));
    CHECK(read_config()["model"] == "two");
    REQUIRE(stat(real.c_str(), &made) == 0);
    CHECK((made.st_mode & 0777) == 0640);

    for (const std::string text : {"[1]", "{\"model\": ", "text"}) {
        config.write(text);
        CHECK(refused([] { write_config("model", "three"); }).says("PAL-OPTION-04"));
        CHECK(config.text() == text);
    }
    config.write(R"({"model": "a", "model": "b"})");
    CHECK(refused([] { write_config("model", std::nullopt); }).says("PAL-DISK-03"));
    CHECK(config.text() == R"({"model": "a", "model": "b"})");
}

TEST_CASE("a byte order mark is removed, and an unreadable file is not overwritten")
{
    const OwnConfig config;
    config.write("\xEF\xBB\xBF{\"a\": 1}");
    write_config("model", "tiny");
    CHECK(parsed(config.text()) == parsed(R"({"a": 1, "model": "tiny"})"));
    config.write("\xEF\xBB\xBF{}");
    write_config("model", "tiny");
    CHECK(parsed(config.text()) == parsed(R"({"model": "tiny"})"));

    fs::remove(config_path());
    fs::create_directory(config_path());
    CHECK(refused([] { write_config("model", "tiny"); }).says("PAL-DISK-03"));
    CHECK(fs::is_directory(config_path()));
}
