#include "engine/eval/task_prompt.h"

#include <algorithm>

#include "engine/text/jinja/code_points.h"
#include "engine/text/normalizer.h"
#include "engine/text/unicode/utf8_cleaner.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view context_hole = "{context}", input_hole = "{input}";

std::vector<TokenId> encoded(const Tokenizer& tokenizer, std::string_view text, bool is_first)
{
    return tokenizer.encode(normalize(tokenizer.normalizer(), clean_utf8(text)), is_first);
}

void append(std::vector<TokenId>& to, const std::vector<TokenId>& more)
{
    to.insert(to.end(), more.begin(), more.end());
}

[[noreturn]] void refuse_template(const Text& subject, const Text& what)
{
    throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, subject, what,
                Text("give a text such as \"{0}\"", "{context}\n\n{input}"));
}

// Returns how many were cut.
uint64_t cut_middle(std::vector<TokenId>& tokens, uint64_t longest)
{
    if (tokens.size() <= longest) return 0;
    const uint64_t half = longest / 2, cut = tokens.size() - 2 * half;
    const auto begin = tokens.begin() + static_cast<ptrdiff_t>(half);
    tokens.erase(begin, begin + static_cast<ptrdiff_t>(cut));
    return cut;
}

} // namespace

TaskTemplate TaskTemplate::parse(const std::string& text, const Text& subject)
{
    const size_t at = text.find(context_hole);
    if (at == text.npos) refuse_template(subject, Text("it has no {0}", std::string(context_hole)));
    TaskTemplate parsed{text.substr(0, at), text.substr(at + context_hole.size())};
    if (parsed.after.find(context_hole) != text.npos)
        refuse_template(subject, Text("it has {0} more than once", std::string(context_hole)));
    if (parsed.before.find(input_hole) != text.npos)
        refuse_template(subject, Text("{0} stands before {1}", std::string(input_hole), std::string(context_hole)));
    return parsed;
}

void TaskTemplate::require_question(const Text& subject) const
{
    if (after.find(input_hole) == after.npos)
        refuse_template(subject, Text("it has no {0}", std::string(input_hole)));
}

std::string TaskTemplate::question(const std::string& input) const
{
    std::string filled = after;
    for (size_t at = filled.find(input_hole); at != filled.npos; at = filled.find(input_hole, at + input.size()))
        filled.replace(at, input_hole.size(), input);
    return filled;
}

size_t TaskText::longest_question() const
{
    size_t longest = 0;
    for (const std::vector<TokenId>& question : questions)
        longest = std::max(longest, question.size());
    return longest;
}

TaskText make_task_text(const TaskLine& task, const TaskTemplate& with, const Tokenizer& tokenizer,
                        const ChatTemplate& turns, std::optional<uint64_t> longest)
{
    TaskText made;
    std::vector<TokenId> own = encoded(tokenizer, with.before + task.context, turns.document_is_first_text());
    if (longest) made.cut = cut_middle(own, *longest);
    made.own = own.size();
    made.context = turns.open_user();
    append(made.context, own);
    for (const TaskQuestion& asked : task.questions) {
        const std::string question = with.question(asked.input);
        if (turns.plain()) {
            made.questions.push_back(encoded(tokenizer, question + task.answer_prefix, false));
            continue;
        }
        std::vector<TokenId> ids = encoded(tokenizer, question, false);
        append(ids, turns.close_user_open_assistant());
        append(ids, encoded(tokenizer, jinja::strip_space(task.answer_prefix), false));
        made.questions.push_back(std::move(ids));
    }
    return made;
}

} // namespace palimpsest::engine
