// The metrics compared with published implementations, whose scores of fixed answers tests/fixtures/metrics has.
#include "engine/eval/metrics/task_metric.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/eval/metrics/lower_case.h"
#include "engine/eval/metrics/number_match.h"
#include "engine/eval/metrics/rouge_l.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using nlohmann::json;

namespace {

std::vector<std::string> strings_of(const json& made, const char* key)
{
    return made.contains(key) ? made[key].get<std::vector<std::string>>() : std::vector<std::string>();
}

} // namespace

TEST_CASE("metrics score as the published implementations do")
{
    const json cases = json::parse(std::ifstream(tests::source_file("tests/fixtures/metrics/cases.json")))["cases"];
    std::map<TaskMetric, size_t> compared;
    for (const json& made : cases) {
        INFO(made.dump());
        const TaskMetric metric = task_metric(made["metric"].get<std::string>()).value();
        const RightAnswer right{.answers = strings_of(made, "answers"), .classes = strings_of(made, "classes")};
        CHECK(score(metric, made["said"].get<std::string>(), right) ==
              Approx(made["score"].get<double>()).epsilon(0).margin(1e-9));
        ++compared[metric];
    }
    for (const TaskMetric metric : task_metrics()) {
        INFO(name_of(metric));
        CHECK(compared[metric] >= 40);
    }
}

TEST_CASE("the best of several right answers counts, and all that are to be named")
{
    const RightAnswer right{.answers = {"Paris", "the capital"}};
    CHECK(score(TaskMetric::QaF1, "capital", right) == 1);
    CHECK(score(TaskMetric::MatchAny, "PARIS", right) == 1);
    CHECK(score(TaskMetric::MatchAll, "PARIS", right) == 0.5);
}

TEST_CASE("names of metrics are read as they are written")
{
    for (const TaskMetric metric : task_metrics())
        CHECK(task_metric(name_of(metric)) == metric);
    CHECK(task_metric("bleu") == std::nullopt);
}

TEST_CASE("sentences of any length are compared")
{
    std::string long_one, other;
    for (int i = 0; i < 2000; ++i) {
        long_one += "w" + std::to_string(i) + " ";
        if (i % 2 == 0) other += "w" + std::to_string(i) + " ";
    }
    CHECK(rouge_l(other, long_one) == Approx(2.0 / 3).margin(1e-7)); // precision 1, recall 1/2
}

TEST_CASE("a right answer that names no paragraph has no number")
{
    CHECK(paragraph_number("Paragraph 12, Paragraph 3") == "12");
    CHECK(paragraph_number("\u6bb5\u843d3") == "3");
    CHECK(paragraph_number("12") == std::nullopt);
    CHECK(paragraph_number("Paragraph x") == std::nullopt);
}

TEST_CASE("invalid bytes are compared as replacement characters")
{
    CHECK(lower_case("A\xff"
                     "B") == "a\ufffd"
                             "b");
    CHECK(score(TaskMetric::QaF1, "\xff a word", {.answers = {"word"}}) == Approx(2.0 / 3));
}
