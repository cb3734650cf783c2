#include "engine/text/bpe/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cassert>

#include "engine/text/bpe/pre_tokenizer_table.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

// The characters with the property White_Space, for use inside of brackets.
constexpr std::string_view white_space =
    R"(\x09-\x0D \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Replaces \s and \S by explicit character classes, \S only outside of brackets.
std::string with_white_space(std::string_view expression)
{
    std::string out;
    bool in_brackets = false;
    for (size_t i = 0; i < expression.size(); ++i) {
        const char c = expression[i];
        if (c == '\\' && i + 1 < expression.size()) {
            const char escaped = expression[++i];
            if (escaped == 's' && in_brackets)
                out += white_space;
            else if (escaped == 's')
                out.append("[").append(white_space).append("]");
            else if (escaped == 'S' && !in_brackets)
                out.append("[^").append(white_space).append("]");
            else
                out.append({c, escaped});
            continue;
        }
        if (c == '[') in_brackets = true;
        if (c == ']') in_brackets = false;
        out += c;
    }
    return out;
}

const PreTokenizerEntry& known_entry(std::string_view name)
{
    for (const PreTokenizerEntry& entry : pre_tokenizer_table())
        if (entry.name == name) return entry;
    throw Error(
        ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"),
        Text("the pre-tokenizer '{0}' is not known (known are {1})", printable(name), known_pre_tokenizers()),
        Text("use another model"));
}

size_t first_character(std::string_view text)
{
    size_t size = 1;
    while (size < text.size() && is_utf8_continuation(text[size]))
        ++size;
    return size;
}

} // namespace

std::string_view pre_tokenizer_with(const PreTokenizerSteps& steps)
{
    for (const PreTokenizerEntry& entry : pre_tokenizer_table())
        for (const auto& form : entry.published)
            if (std::equal(form.begin(), form.end(), steps.begin(), steps.end())) return entry.name;
    return {};
}

GgufPreTokenizer gguf_pre_tokenizer(std::string_view name)
{
    for (const GgufPreTokenizerEntry& entry : gguf_pre_tokenizer_table())
        if (entry.gguf_name == name) return {entry.name, entry.adds_bos, entry.ignore_merges};
    return {};
}

std::string known_pre_tokenizers()
{
    std::string names;
    for (const PreTokenizerEntry& entry : pre_tokenizer_table())
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    return names;
}

class PreTokenizer::Workspace {
public:
    Workspace() : match_(pcre2_match_data_create(1, nullptr))
    {
        if (match_ == nullptr) throw std::bad_alloc();
    }
    ~Workspace() { pcre2_match_data_free(match_); }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    pcre2_match_data* match() { return match_; }

private:
    pcre2_match_data* match_;
};

void PreTokenizer::WorkspaceDeleter::operator()(Workspace* workspace) const
{
    delete workspace;
}

// A compiled expression.
class PreTokenizer::Expression {
public:
    Expression(std::string_view expression, bool anchored)
    {
        const std::string source = with_white_space(expression);
        const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
                                 (anchored ? static_cast<uint32_t>(PCRE2_ANCHORED) : 0);
        int error = 0;
        PCRE2_SIZE at = 0;
        code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options, &error, &at,
                              nullptr);
        if (code_ == nullptr)
            throw Error(ErrorKind::Internal, ErrorCode::Internal, Text("pre-tokenizer"),
                        Text("its expression does not compile (error {0} at {1})", error, at),
                        Text("report this as a bug"));
        // If the system forbids generated code, matching falls back to PCRE2's interpreter.
        pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    }
    ~Expression() { pcre2_code_free(code_); }
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    struct Match {
        bool found = false;
        bool needs_more = false; // only with `partial`: more text may change the match
        size_t begin = 0, end = 0;
    };

    Match match(std::string_view text, size_t from, bool partial, Workspace& workspace) const
    {
        const uint32_t options = PCRE2_NO_UTF_CHECK | (partial ? static_cast<uint32_t>(PCRE2_PARTIAL_HARD) : 0);
        int result = run(text, from, options, workspace);
        // JIT code has a small stack of its own; the interpreter allocates from the heap.
        if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(text, from, options | PCRE2_NO_JIT, workspace);
        if (result == PCRE2_ERROR_PARTIAL) return {false, true, 0, 0};
        if (result == PCRE2_ERROR_NOMATCH) return {};
        if (result < 0) fail(result);
        const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(workspace.match());
        return {true, false, bounds[0], bounds[1]};
    }

private:
    [[noreturn]] static void fail(int result)
    {
        throw Error(ErrorKind::Internal, ErrorCode::Internal, Text("tokenizer"),
                    Text("a regular expression could not be matched (PCRE2 error {0})", result),
                    Text("report this as a bug"));
    }

    int run(std::string_view text, size_t from, uint32_t options, Workspace& workspace) const
    {
        return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options,
                           workspace.match(), nullptr);
    }

    pcre2_code* code_ = nullptr;
};

PreTokenizer::PreTokenizer(std::string_view name) : PreTokenizer(known_entry(name)) {}

PreTokenizer::PreTokenizer(const PreTokenizerEntry& entry)
    : segments_(std::make_unique<Expression>(entry.segments, true))
{
    for (const std::string_view step : entry.steps)
        steps_.push_back(std::make_unique<Expression>(step, false));
}

PreTokenizer::~PreTokenizer() = default;

PreTokenizer::WorkspaceHandle PreTokenizer::workspace() const
{
    return WorkspaceHandle(new Workspace);
}

size_t PreTokenizer::next_segment(std::string_view text, bool complete, Workspace& workspace) const
{
    assert(!text.empty());
    const Expression::Match match = segments_->match(text, 0, !complete, workspace);
    if (match.needs_more) return 0;
    return match.found && match.end > 0 ? match.end : first_character(text);
}

void PreTokenizer::split(std::string_view segment, Workspace& workspace, std::vector<size_t>& ends) const
{
    split_from(0, segment, 0, workspace, ends);
}

// Recursion depth: the number of steps, at most five.
void PreTokenizer::split_from(size_t step, std::string_view piece, size_t offset, Workspace& workspace,
                              std::vector<size_t>& ends) const
{
    if (piece.empty()) return;
    if (step == steps_.size()) {
        ends.push_back(offset + piece.size());
        return;
    }
    size_t done = 0, from = 0;
    while (from < piece.size()) {
        const Expression::Match match = steps_[step]->match(piece, from, false, workspace);
        if (!match.found || match.end == match.begin) break;
        split_from(step + 1, piece.substr(done, match.begin - done), offset + done, workspace, ends);
        split_from(step + 1, piece.substr(match.begin, match.end - match.begin), offset + match.begin, workspace,
                   ends);
        done = from = match.end;
    }
    split_from(step + 1, piece.substr(done), offset + done, workspace, ends);
}

} // namespace palimpsest::engine
