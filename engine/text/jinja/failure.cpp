#include "engine/text/jinja/failure.h"

#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

[[noreturn]] void fail(ErrorCode code, const Text& what)
{
    throw Error(ErrorKind::Failed, code, Text("chat template"), what,
                Text("the model can be used with plain framing"));
}

} // namespace

void fail_syntax(int line, const Text& what)
{
    fail(ErrorCode::TemplateSyntax, Text("line {0}: {1}", line, what));
}

void fail_unsupported(const Text& what)
{
    fail(ErrorCode::UnsupportedTemplate, what);
}

void fail_run(const Text& what)
{
    fail(ErrorCode::TemplateEvaluation, what);
}

void fail_limit(const Text& what)
{
    fail(ErrorCode::TemplateTooExpensive, what);
}

void fail_raised(const std::string& message)
{
    fail(ErrorCode::TemplateRefusesConversation, Text("it refuses the conversation: {0}", printable(message)));
}

} // namespace palimpsest::engine::jinja
