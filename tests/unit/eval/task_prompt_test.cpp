#include "engine/eval/task_prompt.h"

#include <numeric>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

std::shared_ptr<const Model> model_for_tasks()
{
    return load_random({.vocabulary = 300, .has_tokenizer = true});
}

ChatTemplate turns_of(const Model& model, const std::string& chat_template)
{
    Vocabulary vocabulary = model.files().vocabulary;
    vocabulary.chat_template = chat_template;
    return {vocabulary, *model.tokenizer()};
}

std::string text_of_ids(const Tokenizer& tokenizer, std::span<const TokenId> ids)
{
    std::string text;
    for (const TokenId id : ids)
        text += tokenizer.surface(id);
    const std::string mark = "\u2581"; // which this vocabulary spells spaces with, byte by byte
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark))
        text.replace(at, mark.size(), " ");
    return text;
}

TaskLine task_of(const std::string& context, const std::string& input)
{
    TaskLine task;
    task.context = context;
    task.questions = {{.input = input, .right = {.answers = {"x"}}}};
    return task;
}

std::string refusal_of_template(const std::string& text)
{
    try {
        TaskTemplate::parse(text, Text::verbatim("template"));
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

constexpr const char* marked_turns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

} // namespace

TEST_CASE("a template has the text once and the question behind it")
{
    const TaskTemplate made =
        TaskTemplate::parse("Read this: {context}\nQ: {input} ({input})\n", Text::verbatim("template"));
    CHECK(made.before == "Read this: ");
    CHECK(made.question("Who?") == "\nQ: Who? (Who?)\n");
    CHECK(made.question("{input}") == "\nQ: {input} ({input})\n"); // a question is not filled in again
    CHECK(refusal_of_template("{input}").find("it has no {context}") != std::string::npos);
    CHECK(refusal_of_template("{context}{context}").find("more than once") != std::string::npos);
    CHECK(refusal_of_template("{input} {context}").find("stands before") != std::string::npos);
    CHECK(refusal_of_template("{context}") == "accepted");
    CHECK_THROWS_AS(
        TaskTemplate::parse("{context}", Text::verbatim("template")).require_question(Text::verbatim("template")),
        Error);
    CHECK_NOTHROW(made.require_question(Text::verbatim("template")));
}

TEST_CASE("text and question stand alone without a chat template and in a turn with one")
{
    const auto model = model_for_tasks();
    const Tokenizer& tokenizer = *model->tokenizer();
    TaskLine task = task_of("story", "who?");
    task.answer_prefix = " it";
    const TaskTemplate with{"read: ", "|{input}"};
    const auto shown = [&](const ChatTemplate& turns) {
        const TaskText made = make_task_text(task, with, tokenizer, turns, {});
        CHECK(made.own == tokenizer.encode("read: story", turns.document_is_first_text()).size());
        CHECK(made.cut == 0);
        return text_of_ids(tokenizer, made.context) + "#" + text_of_ids(tokenizer, made.questions.at(0));
    };
    const std::string plain = shown(turns_of(*model, ""));
    CAPTURE(plain);
    CHECK(plain.ends_with("read: story#|who? it"));
    const std::string chat = shown(turns_of(*model, marked_turns));
    CAPTURE(chat);
    CHECK(chat.find("<user>") != std::string::npos);
    CHECK(chat.ends_with("read: story#|who?</user><assistant>it"));
}

TEST_CASE("a text that is too long loses its middle, and its question nothing")
{
    const auto model = model_for_tasks();
    const Tokenizer& tokenizer = *model->tokenizer();
    const ChatTemplate turns = turns_of(*model, "");
    const TaskLine task = task_of("abcdefghijklmnopqrstuvwxyz", std::string(40, 'q'));
    const TaskText whole = make_task_text(task, {"", "{input}"}, tokenizer, turns, {});
    const uint64_t longest = GENERATE(as<uint64_t>(), 0, 1, 8, 9);
    const TaskText cut = make_task_text(task, {"", "{input}"}, tokenizer, turns, longest);
    CHECK(cut.own == longest / 2 * 2);
    CHECK(cut.own + cut.cut == whole.own);
    CHECK(cut.questions == whole.questions);
    const size_t before = whole.context.size() - whole.own;
    std::vector<TokenId> expected(whole.context.begin(),
                                  whole.context.begin() + static_cast<ptrdiff_t>(before + longest / 2));
    expected.insert(expected.end(), whole.context.end() - static_cast<ptrdiff_t>(longest / 2), whole.context.end());
    CHECK(cut.context == expected);
}

TEST_CASE("a text that fits is left whole")
{
    const auto model = model_for_tasks();
    const ChatTemplate turns = turns_of(*model, "");
    const TaskLine task = task_of("abcdef", "q");
    const TaskText whole = make_task_text(task, {"", "{input}"}, *model->tokenizer(), turns, {});
    CHECK(make_task_text(task, {"", "{input}"}, *model->tokenizer(), turns, whole.own).context == whole.context);
}
