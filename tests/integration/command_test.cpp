// Runs the command in-process with its streams replaced, and checks its output.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "app/palimpsest/application.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/retention_picture.h"
#include "app/palimpsest/table.h"
#include "kernels/base/byte_quantity.h"
#include "storage/session/list_lengths.h"
#include "storage/session/reading_meter.h"
#include "storage/session/session_report.h"
#include "storage/session/stored_session.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/support/random_model.h"

using namespace palimpsest;
using namespace palimpsest::app;

namespace {

const std::string tiny_model = tests::source_file("tests/fixtures/models/llama.f32.gguf");

struct Ran {
    int status;
    std::string out, err;
};

Ran command(const std::vector<std::string>& arguments, const std::string& input = "")
{
    std::istringstream in(input);
    std::ostringstream out, err;
    Console console{in, out, err, false, false, {}};
    const int status = run(arguments, console);
    return {status, out.str(), err.str()};
}

class TextFile {
public:
    explicit TextFile(const std::string& text)
        : path_(std::filesystem::temp_directory_path() / ("palimpsest-text-" + std::to_string(getpid()) + ".txt"))
    {
        std::ofstream(path_) << text;
    }
    ~TextFile() { std::filesystem::remove(path_); }
    std::string name() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

std::string book(const std::string& keeper)
{
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "In the year " + std::to_string(1800 + i) + " the light was kept by " +
                (i == 38 ? keeper : "the warden") + ".\n";
    return text;
}

} // namespace

TEST_CASE("attention that does not fit into memory is refused before anything is measured")
{
    const auto model = tests::random_model({.layers = 64,
                                            .heads = 8,
                                            .kv_heads = 8,
                                            .head_dim = 4,
                                            .vocabulary = 260,
                                            .context = 1 << 20,
                                            .has_tokenizer = true});
    const TextFile file(std::string(600000, 'a'));
    const std::string journal = file.name() + ".jsonl";
    const Ran ran = command({"eval", "attention-recall", file.name(), "--model", model.string(), "--places", "1000",
                             "--rows", "1", "--chunk", "64", "--budget", "64", "--journal", journal});
    std::filesystem::remove(model);
    CHECK(ran.status == 4);
    CHECK_THAT(ran.err, Catch::Contains("choose fewer --places"));
    CHECK_FALSE(std::filesystem::exists(journal));
}

TEST_CASE("a summary is reproducible, and a changed page changes it")
{
    const auto summary = [](const std::string& text) {
        const TextFile file(text);
        const Ran ran = command({"summarize", file.name(), "--model", tiny_model, "--budget", "128", "--chunk",
                                 "32", "--max-tokens", "60", "--no-notes", "--json"});
        REQUIRE(ran.status == 0);
        return nlohmann::json::parse(ran.out)["answers"][0]["text"].get<std::string>();
    };
    const std::string first = summary(book("Ann Holt"));
    CHECK(summary(book("Ann Holt")) == first);
    CHECK(summary(book("Job Marsh")) != first);
}

TEST_CASE("a session keeps its system prompt and refuses another")
{
    const TextFile file(book("Ada"));
    const auto database =
        std::filesystem::temp_directory_path() / ("palimpsest-system-" + std::to_string(getpid()));
    std::filesystem::create_directory(database);
    const std::string db = (database / "library.db").string();
    const auto read = [&](const std::string& session, const std::vector<std::string>& more) {
        std::vector<std::string> all = {"read",    file.name(), "--session", session, "--db",    db,
                                        "--model", tiny_model,  "--budget",  "100",   "--chunk", "32"};
        all.insert(all.end(), more.begin(), more.end());
        return command(all);
    };
    const auto show = [&](const char* session) {
        return nlohmann::json::parse(command({"sessions", "show", session, "--db", db, "--json"}).out);
    };
    CHECK(read("lamp", {"--system", "Be brief."}).status == 0);
    CHECK(read("door", {}).status == 0);
    CHECK(show("lamp")["system"] == "Be brief.");
    CHECK(show("door")["system"].is_null());
    CHECK(show("lamp")["tokens"] > show("door")["tokens"]); // the system prompt is part of the stream
    CHECK(command({"ask", "--session", "lamp", "--db", db, "Who?", "--max-tokens", "4"}).status == 0);
    CHECK(command({"ask", "--session", "lamp", "--db", db, "Who?", "--max-tokens", "4", "--system", "Be brief."})
              .status == 0);
    const auto other = command({"ask", "--session", "lamp", "--db", db, "Who?", "--system", "Be long."});
    CHECK(other.status == 2);
    CHECK_THAT(other.err, Catch::Contains("it was begun with 'Be brief.', and --system 'Be long.' was given now"));
    std::filesystem::remove_all(database);
}

TEST_CASE("models show names the framing of turns")
{
    const auto shown = command({"models", "show", tiny_model, "--json"});
    CHECK(nlohmann::json::parse(shown.out)["framing"] ==
          "plain: it prints nothing between a question and its answer");
    CHECK(nlohmann::json::parse(command({"models", "show", "--json"}).out)["framing"] ==
          "the model's own template");
}

TEST_CASE("each question is answered without the others unless --continue is given")
{
    const TextFile file(book("Ann Holt"));
    const auto answers = [&](std::vector<std::string> questions, bool go_on) {
        std::vector<std::string> arguments = {"ask", file.name()};
        arguments.insert(arguments.end(), questions.begin(), questions.end());
        for (const char* more :
             {"--model", tiny_model.c_str(), "--budget", "100", "--chunk", "32", "--max-tokens", "20", "--json"})
            arguments.push_back(more);
        if (go_on) arguments.push_back("--continue");
        const Ran ran = command(arguments);
        REQUIRE(ran.status == 0);
        std::vector<std::string> texts;
        const auto result = nlohmann::json::parse(ran.out);
        for (const auto& answer : result["answers"])
            texts.push_back(answer["text"]);
        return texts;
    };
    const auto both = answers({"who kept the light?", "in which year?"}, false);
    CHECK(both[1] == answers({"in which year?"}, false)[0]);
    const auto talk = answers({"who kept the light?", "in which year?"}, true);
    CHECK(talk[0] == both[0]);
    CHECK(talk[1] != both[1]);
}

TEST_CASE("ask puts the question into its prompt")
{
    const TextFile file(book("Ann Holt"));
    const auto ask = [&](const std::string& question, const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"ask", file.name(), question, "--model",      tiny_model, "--budget",
                                              "100", "--chunk",   "32",     "--max-tokens", "20",       "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ran ran = command(arguments);
        REQUIRE(ran.status == 0);
        return nlohmann::json::parse(ran.out);
    };
    const auto framed = ask("who kept the light?", {"--prompt", "Tell me: {} Be brief."});
    const auto bare = ask("Tell me: who kept the light? Be brief.", {"--prompt", "{}"});
    CHECK(framed["answers"][0]["text"] == bare["answers"][0]["text"]);
    CHECK(framed["answers"][0]["question"] == "who kept the light?");
    CHECK(framed["prompt"] == "Tell me: {} Be brief.");
    CHECK(ask("who kept the light?", {"--prompt", "{}"})["answers"][0]["text"] != bare["answers"][0]["text"]);
    CHECK(command({"ask", file.name(), "who?", "--model", tiny_model, "--prompt", "Be brief."}).status == 2);
}

TEST_CASE("the receipt reports an answer that --max-tokens cut, not one that --stop ended")
{
    const TextFile file(book("Ann Holt"));
    const std::vector<std::string> common = {"--model", tiny_model, "--budget", "100", "--chunk", "32"};
    auto cut = std::vector<std::string>{"summarize", file.name(), "--max-tokens", "3", "--no-notes"};
    cut.insert(cut.end(), common.begin(), common.end());
    const Ran ran = command(cut);
    CHECK(ran.err.find("cut after 3 tokens") != std::string::npos);
    CHECK(ran.err.find("coverage: ") != std::string::npos);
    CHECK(ran.err.find("reach: ") != std::string::npos);
    CHECK(ran.err.find("memory: ") != std::string::npos);

    const std::string text = ran.out.substr(0, ran.out.size() - 1);
    REQUIRE(text.size() > 2);
    auto stopped = cut;
    stopped[3] = "30";
    stopped.insert(stopped.end(), {"--stop", text.substr(1, 1)});
    const Ran short_answer = command(stopped);
    CHECK(short_answer.out == text.substr(0, 1) + "\n");
    CHECK(short_answer.err.find("cut after") == std::string::npos);
    // --stop takes one value; the argument after that is positional.
    auto asked =
        std::vector<std::string>{"ask", "--stop", "x", file.name(), "--stop", "y", "who?", "--max-tokens", "3"};
    asked.insert(asked.end(), common.begin(), common.end());
    CHECK(command(asked).status == 0);
}

TEST_CASE("the remaining time is computed from the speed of this run")
{
    std::istringstream in;
    std::ostringstream out, err;
    Console console{in, out, err, false, false, {}};
    const auto model =
        engine::Model::load(tiny_model, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
    engine::SessionOptions options;
    options.chunk = 16;
    const engine::Session session(model, options);
    ConsoleListener events(console, true);
    storage::ReadingMeter meter(events, "a/book");
    meter.start_at(1000, 1000000); // the document begins at 1,000
    meter.written(77);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    meter.update(session, {.tokens_seen = 1000001}, 0, 1000002);
    const auto event = nlohmann::json::parse(err.str());
    CHECK(event["seconds_left"].get<double>() >= 0.02); // one token is left, and the previous one took 20 ms
    CHECK(event["bytes_written"] == 77);
    err.str("");
    ConsoleListener lines(console, false);
    storage::ReadingMeter plain(lines, "a/book");
    plain.start_at(1000, 1500);
    plain.update(session, {.tokens_seen = 1600}, 0, 2000);
    CHECK(err.str().starts_with("Reading book  60 % - 1,600 tokens"));
}

TEST_CASE("a list of policies is split at the commas that precede a policy name")
{
    CHECK(split_policies("treekv,streaming") == std::vector<std::string>{"treekv", "streaming"});
    CHECK(split_policies("treekv:sinks=4,recent=8,lacache:span=2,overlap=1,full") ==
          std::vector<std::string>{"treekv:sinks=4,recent=8", "lacache:span=2,overlap=1", "full"});
    CHECK(parse_lengths("--lengths", "1k,500,1M") == std::vector<uint64_t>{1024, 500, 1048576});
}

TEST_CASE("numbers of bytes are parsed and formatted with units")
{
    CHECK(parse_bytes("512MiB") == 512u << 20);
    CHECK(parse_bytes("1.5 GB") == 1500000000u);
    CHECK_FALSE(parse_bytes("512"));
    CHECK_FALSE(parse_bytes("-1MB"));
    CHECK_FALSE(parse_bytes("1e400GB"));
    CHECK(format_bytes(96400000) == "96.4 MB");
    CHECK(format_bytes(999) == "999 B");
    CHECK(format_count(812345) == "812,345");
    CHECK(format_count(12) == "12");
}

TEST_CASE("a table is aligned whatever script its cells are of, and separated by tabs for scripts")
{
    const auto written = [](bool is_terminal) {
        Table table;
        table.add({"\u4E2D\u6587", "1", "a\tb"});
        table.add({"\u05E9\u05DC\u05D5\u05DD\x1b[A", "22", "\U0001F468\u200D\U0001F469"});
        std::istringstream in;
        std::ostringstream out, err;
        Console console{in, out, err, is_terminal, false, {}};
        table.write_rows(console);
        return out.str();
    };
    CHECK(written(false) ==
          "\u4E2D\u6587\t1\ta b\n\u05E9\u05DC\u05D5\u05DD\\x1b[A\t22\t\U0001F468\u200D\U0001F469\n");
    CHECK(written(true) == "\u4E2D\u6587        1   a b\n"
                           "\u2068\u05E9\u05DC\u05D5\u05DD\\x1b[A\u2069  22  \U0001F468\u200D\U0001F469\n");
}

TEST_CASE("control characters are escaped in text for a terminal")
{
    CHECK(visible("a\tb\nc") == "a\tb\nc");
    CHECK(visible("\x1b[31mred\r") == "\\x1b[31mred\\x0d");
    CHECK(visible("caf\xc3\xa9 \xf0\x9f\x99\x82") == "caf\xc3\xa9 \xf0\x9f\x99\x82");
    CHECK(visible("\xc2\x9b"
                  "0m") == "\\u{9b}0m");
    CHECK(visible("\xe2\x80\xae") == "\\u{202e}");
}

TEST_CASE("the picture shows the kept share of every cell")
{
    // Two layers of one head over 16 tokens in 16 cells: layer 0 keeps all, layer 1 the first and the last.
    engine::RetentionMap map{2, 1, 16, {{}, {0, 15}}};
    for (uint32_t i = 0; i < 16; ++i)
        map.tokens[0].push_back(i);
    const std::string picture = unicode_picture(map, {}, 40);
    CHECK(picture.find("    1 │█              █\n") != std::string::npos);
    CHECK(picture.find("    0 │████████████████\n") != std::string::npos);
    // Half of a cell's two tokens kept: a block of half height.
    const engine::RetentionMap half{1, 1, 16, {{0, 2, 4, 6, 8, 10, 12, 14}}};
    CHECK(unicode_picture(half, {}, 15).find("    0 │▄▄▄▄▄▄▄▄\n") != std::string::npos);
}

namespace {

// Layer 0: one head holds all 20 tokens, the other the first 10; layer 1: one holds the newest token, the other
// none.
engine::RetentionMap ragged_map()
{
    engine::RetentionMap map{2, 2, 20, {{}, {}, {19}, {}}};
    for (uint32_t i = 0; i < 20; ++i)
        map.tokens[0].push_back(i);
    for (uint32_t i = 0; i < 10; ++i)
        map.tokens[1].push_back(i);
    return map;
}

} // namespace

TEST_CASE("the picture averages the heads of a layer, however long their lists are")
{
    const std::string picture = unicode_picture(ragged_map(), {}, 40);
    CHECK(picture.find("    1 │                   ▄\n") != std::string::npos);
    CHECK(picture.find("    0 │██████████▄▄▄▄▄▄▄▄▄▄\n") != std::string::npos);
    const std::string heads = unicode_picture(ragged_map(), {.layer = 0, .head = {}}, 40);
    CHECK(heads.find("  0.1 │██████████          \n") != std::string::npos);
    CHECK(heads.find("  0.0 │████████████████████\n") != std::string::npos);
    CHECK(engine::heads_json(ragged_map(), {})[3]["tokens"].empty());
}

TEST_CASE("reach and overlap count slots, so that a long list weighs more than a short one")
{
    const auto reach = storage::reach_json(ragged_map());
    const std::vector<double> tenths = reach["kept_by_tenth_of_the_input"];
    CHECK(tenths[0] == Approx(4.0 / 31));
    CHECK(tenths[9] == Approx(3.0 / 31));
    CHECK(reach["median_age_tokens"] == 12); // of 31 ages: 0, 0, 1 to 9, then 10 to 19 twice each
    engine::RetentionMap other = ragged_map();
    std::swap(other.tokens[0], other.tokens[1]);
    CHECK(engine::overlap(ragged_map(), other) == Approx(21.0 / 41));
}

TEST_CASE("lengths of lists are averaged by layer")
{
    const storage::ListLengths lengths = storage::ListLengths::of(ragged_map());
    CHECK(lengths.layers == std::vector<double>{15, 0.5});
    CHECK_FALSE(lengths.even());
    CHECK(lengths.least == 0); // the minimum over lists, not over the averages of layers
    CHECK(lengths.mean() == 7.75);
    CHECK(lengths.greatest == 20);
    const engine::RetentionMap equal{2, 1, 4, {{0, 3}, {1, 2}}};
    CHECK(storage::ListLengths::of(equal).even());
}

TEST_CASE("the budget option sets a policy parameter or a number of tokens")
{
    CommonOptions options;
    options.policy = "snapkv";
    options.budget = "auto:25%";
    options.chunk = 16;
    CHECK(options.policy_spec().text() == "snapkv:budget=auto");
    engine::ModelConfig model;
    model.context = 256;
    CHECK(options.session(model, {.input = 400}).budget == 100);
    options.budget = "auto";
    CHECK(options.session(model).budget == 0); // 0: the default
    options.policy = "snapkv:budget=pyramid";
    CHECK_THROWS_WITH(options.policy_spec(), Catch::Contains("exclude each other"));
    options.policy = "snapkv:budget=auto";
    CHECK(options.policy_spec().text() == "snapkv:budget=auto");
    options.policy = "streaming";
    CHECK_THROWS_WITH(options.policy_spec(), Catch::Contains("budget") && Catch::Contains("by attention"));

    options.policy = "refreekv";
    options.budget = "none";
    CHECK(options.session(model).budget == engine::no_budget);
}

TEST_CASE("a replaced answer is shown as such, also in an imported and in a forked session")
{
    const std::string folder =
        (std::filesystem::temp_directory_path() / ("palimpsest-shown-" + std::to_string(getpid()))).string();
    const std::string file = folder + "/sessions.db", exported = folder + "/exported.db";
    {
        const auto store = storage::open_store(file, storage::Database::Access::Write);
        storage::StoredOptions options{.choice = {}};
        options.choice.model = tiny_model;
        options.choice.budget = "64";
        options.choice.chunk = 16;
        storage::Listener listener;
        storage::StoredSession session(*store, "talk", options, listener);
        session.say("hello", {.max_tokens = 4, .stop = {}, .token = {}, .is_end = {}});
        session.regenerate({.temperature = 1, .seed = 5}, {.max_tokens = 6, .stop = {}, .token = {}, .is_end = {}});
    }
    REQUIRE(command({"sessions", "export", "talk", exported, "--db", file}).status == 0);
    REQUIRE(command({"sessions", "import", exported, "--name", "other", "--db", file}).status == 0);
    REQUIRE(command({"sessions", "fork", "other", "third", "--db", file}).status == 0);
    for (const char* name : {"talk", "other", "third"}) {
        INFO(name);
        const Ran shown = command({"sessions", "show", name, "--json", "--db", file});
        const auto messages = nlohmann::json::parse(shown.out)["messages"];
        REQUIRE(messages.size() == 3);
        CHECK(messages[1]["role"] == "assistant");
        CHECK(messages[1]["replaced"] == true);
        CHECK(messages[2]["role"] == "assistant");
        CHECK_FALSE(messages[2].contains("replaced"));
        const Ran read = command({"sessions", "show", name, "--db", file});
        CHECK(read.out.find("assistant (cut), replaced by the next:\n") != std::string::npos);
        CHECK(command({"sessions", "verify", name, "--db", file}).status == 0);
    }
    std::filesystem::remove_all(folder);
}
