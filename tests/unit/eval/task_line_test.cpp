// Lines of benchmarks, accepted and refused.
#include "engine/eval/task_line.h"

#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

TaskLine parsed(const std::string& line, const std::string& file = "data/hotpotqa.jsonl",
                std::optional<TaskMetric> metric = {})
{
    return parse_task_line(line, file, 3, metric);
}

std::string refusal_of(const std::string& line, std::optional<TaskMetric> metric = {})
{
    try {
        parsed(line, "data/hotpotqa.jsonl", metric);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::MalformedDocument);
        return error.what();
    }
    return "accepted";
}

} // namespace

TEST_CASE("a line of LongBench is a text, a question and its answers")
{
    const TaskLine line =
        parsed(R"({"input": "Who?", "context": "A text.", "answers": ["Ada", "Lovelace"], "length": 2,
        "dataset": "trec_e", "language": "en", "all_classes": ["Ada", "Bob"], "_id": "1"})");
    CHECK(line.form == TaskForm::LongBench);
    CHECK(line.dataset == "trec_e");
    CHECK(line.context == "A text.");
    REQUIRE(line.questions.size() == 1);
    CHECK(line.questions[0].input == "Who?");
    CHECK(line.questions[0].right.answers == std::vector<std::string>{"Ada", "Lovelace"});
    CHECK(line.questions[0].right.classes == std::vector<std::string>{"Ada", "Bob"});
    CHECK(line.defaults.metric == TaskMetric::Classes);
    CHECK(line.defaults.max_tokens == 64);
    CHECK(line.defaults.first_line_counts);
    CHECK(line.defaults.is_plain);
}

TEST_CASE("a line of L-Eval is a text and a question for each answer")
{
    const std::string line =
        R"({"instructions": ["Who?", "Where?"], "input": "A text.", "outputs": ["(A) Ada", "B"],
        "source": "quality", "evaluation": "exam"})";
    const TaskLine quality = parsed(line, "L-Eval/quality.jsonl");
    CHECK(quality.form == TaskForm::LEval);
    CHECK(quality.dataset == "quality");
    CHECK(quality.context == "A text.");
    REQUIRE(quality.questions.size() == 2);
    CHECK(quality.questions[1].input == "Where?");
    CHECK(quality.questions[1].right.answers == std::vector<std::string>{"B"});
    CHECK(quality.defaults.metric == TaskMetric::Option);
    CHECK(quality.defaults.max_tokens == 512);
    CHECK(parsed(line, "coursera.jsonl").defaults.metric == TaskMetric::Options);
    CHECK(parsed(line, "gsm100.jsonl").defaults.metric == TaskMetric::Result);
    CHECK(parsed(line, "topic_retrieval_longchat.jsonl").defaults.metric == TaskMetric::Exact);
    for (const char* other : {"codeU.jsonl", "sci_fi.jsonl", "renamed.jsonl", "-"})
        CHECK(parsed(line, other).defaults.metric == std::nullopt);
    CHECK(std::string(quality.defaults.question).find("the letter alone") != std::string::npos);
    CHECK(std::string(parsed(line, "coursera.jsonl").defaults.question).find("the letters alone") !=
          std::string::npos);
    CHECK(std::string(parsed(line, "gsm100.jsonl").defaults.question) == "\n\n{input}");
}

TEST_CASE("the last line of a text of RULER is the question")
{
    const std::string line =
        R"({"index": 0, "input": "One.\nTwo.\nWhich?", "outputs": ["1", "2"], "length": 9, "answer_prefix": " It is"})";
    const TaskLine niah = parsed(line, "niah_multivalue/validation.jsonl");
    CHECK(niah.form == TaskForm::Ruler);
    CHECK(niah.dataset == "niah_multivalue");
    CHECK(niah.context == "One.\nTwo.");
    CHECK(niah.questions[0].input == "Which?");
    CHECK(niah.answer_prefix == " It is");
    CHECK(niah.defaults.metric == TaskMetric::MatchAll);
    CHECK(niah.defaults.max_tokens == 128);
    CHECK(parsed(line, "qa_1.jsonl").defaults.metric == TaskMetric::MatchAny);
    CHECK(parsed(line, "vt.jsonl").defaults.max_tokens == 30);
    CHECK(parsed(line, "variable_tracking.jsonl").defaults.max_tokens == 30);
    CHECK(parsed(line, "common_words_extraction.jsonl").defaults.max_tokens == 120);
    CHECK(parsed(line, "freq_words_extraction/test.jsonl").defaults.max_tokens == 50);
    const std::string with_task = R"({"task": "vt", "input": "One.\nWhich?", "outputs": ["1"]})";
    CHECK(parsed(with_task, "file.jsonl").dataset == "vt");
}

TEST_CASE("a dataset without a name is that of the file, and one nobody knows has common words counted")
{
    const std::string line = R"({"context": "A text.", "input": "Who?", "answers": "Ada"})";
    CHECK(parsed(line, "my/letters.jsonl").dataset == "letters");
    CHECK(parsed(line, "my/letters.jsonl").defaults.metric == TaskMetric::QaF1);
    CHECK(parsed(line, "my/letters.jsonl", TaskMetric::Exact).defaults.metric == TaskMetric::Exact);
    CHECK(dataset_of_file("a/vt/test.jsonl") == "vt");
    CHECK(dataset_of_file("test.jsonl") == "test");
}

TEST_CASE("every form may name its dataset")
{
    const char* line = GENERATE(R"({"dataset": "tpo", "context": "x", "input": "y", "answers": ["z"]})",
                                R"({"dataset": "tpo", "input": "x", "instructions": ["y"], "outputs": ["z"],
                                    "evaluation": "exam"})",
                                R"({"dataset": "tpo", "input": "x\ny", "outputs": ["z"]})");
    CHECK(parsed(line, "-").dataset == "tpo");
}

TEST_CASE("what is not computed here has no metric")
{
    const std::string chinese = R"({"context": "x", "input": "y", "answers": ["z"], "dataset": "multifieldqa_zh"})";
    CHECK(parsed(chinese).defaults.metric == std::nullopt);
    const std::string judged = R"({"input": "x", "instructions": ["y"], "outputs": ["z"], "evaluation": "LLM"})";
    CHECK(parsed(judged).defaults.metric == std::nullopt);
    CHECK(parsed(judged, "a.jsonl", TaskMetric::QaF1).defaults.metric == TaskMetric::QaF1);
}

TEST_CASE("a line that is none of a benchmark is refused with its place, what is wrong and what to do")
{
    CHECK(refusal_of("{\"context\": ") ==
          "data/hotpotqa.jsonl, line 3: not valid JSON at byte 13; give one JSON object per line [PAL-DOC-10]");
    CHECK(refusal_of("[]").find("not a JSON object") != std::string::npos);
    CHECK(refusal_of("\"\xff\"").find("it is not UTF-8; save it as UTF-8") != std::string::npos);
    CHECK(refusal_of(std::string(9, '[') + std::string(9, ']')).find("nested deeper than 8") != std::string::npos);
    CHECK(refusal_of(R"({"context": "x", "context": "y"})").find("comes twice") != std::string::npos);
    CHECK(refusal_of(R"({"question": "Who?"})").find("no member of LongBench") != std::string::npos);
    const std::string no_answers = R"({"context": "A text.", "input": "Who?", "answers": []})";
    CHECK(refusal_of(no_answers).find("'answers' is empty; give at least one") != std::string::npos);
    CHECK(refusal_of(R"({"context": "A text.", "input": "Who?"})").find("no member 'answers'; add it") !=
          std::string::npos);
    CHECK(refusal_of(R"({"context": "x", "input": "y", "answers": ["x", " "]})").find("an empty answer") !=
          std::string::npos);
    CHECK(refusal_of(R"({"context": "A text.", "input": 7, "answers": ["x"]})").find("'input'") !=
          std::string::npos);
    CHECK(refusal_of(R"({"context": "", "input": "Who?", "answers": ["x"]})").find("no text") != std::string::npos);
    CHECK(refusal_of(R"({"context": "x", "input": "y", "answers": ["x", 7]})")
              .find("'answers' is not a list of texts; give texts, in quotes") != std::string::npos);
    CHECK(refusal_of(R"({"input": "x", "instructions": ["a", "b"], "outputs": ["c"], "evaluation": "f1"})")
              .find("2 instructions and 1 outputs") != std::string::npos);
    CHECK(refusal_of(R"({"input": "Which?\n", "outputs": ["c"]})").find("before the last line") !=
          std::string::npos);
    CHECK(refusal_of(R"({"input": "\n \n", "outputs": ["c"]})").find("before the last line") != std::string::npos);
    const std::string plain = R"({"context": "x", "input": "y", "answers": ["z"]})";
    CHECK(refusal_of(plain, TaskMetric::Paragraph).find("names no paragraph") != std::string::npos);
    CHECK(refusal_of(plain, TaskMetric::Classes).find("'all_classes'") != std::string::npos);
    CHECK(refusal_of(plain) == "accepted");
}
