#include "engine/text/jinja/failure.h"

namespace palimpsest::engine::jinja {
namespace {

constexpr const char* subject = "chat template";
constexpr const char* remedy = "the model can be used with plain framing";

[[noreturn]] void fail(const char* code, const std::string& what)
{
    throw Error(ErrorKind::Failed, code, subject, what, remedy);
}

} // namespace

void fail_syntax(int line, const std::string& what)
{
    fail(syntax_code, "line " + std::to_string(line) + ": " + what);
}

void fail_unsupported(const std::string& kind, const std::string& name)
{
    fail(unsupported_code, "it uses " + kind + " '" + printable(name) + "', which is not supported");
}

void fail_run(const std::string& what)
{
    fail(run_code, what);
}

void fail_limit(const std::string& what)
{
    fail(limit_code, what);
}

void fail_raised(const std::string& message)
{
    fail(raised_code, "it refuses the conversation: " + printable(message));
}

} // namespace palimpsest::engine::jinja
