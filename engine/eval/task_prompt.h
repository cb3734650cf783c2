// The tokens of a benchmark's text and questions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/eval/task_line.h"
#include "engine/text/chat_template.h"

namespace palimpsest::engine {

// A text with {context} and, behind it, {input}.
struct TaskTemplate {
    std::string before, after; // what stands around {context}

    // Throws Error (Usage, PAL-OPTION-01, about `subject`) unless it has {context} once and {input} only behind it.
    static TaskTemplate parse(const std::string& text, const Text& subject);
    // Throws as parse does if it has no {input}.
    void require_question(const Text& subject) const;
    std::string question(const std::string& input) const; // `after`, with the question
};

struct TaskText {
    std::vector<TokenId> context; // the beginning of the user's turn and the text, up to the question
    uint64_t own = 0;             // tokens of the text among them
    uint64_t cut = 0;             // of the text that were left out of its middle
    std::vector<std::vector<TokenId>> questions; // up to the answer
    size_t longest_question() const;
};

// `longest`: of more own tokens, the first and the last half of so many are kept; a middle token more than two
// halves is not, as in LongBench's pred.py. The questions are never cut. With a plain ChatTemplate, the text stands
// alone behind BOS.
TaskText make_task_text(const TaskLine& task, const TaskTemplate& with, const Tokenizer& tokenizer,
                        const ChatTemplate& turns, std::optional<uint64_t> longest);

} // namespace palimpsest::engine
