#include "app/palimpsest/completion/value_source.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "storage/session/document.h"

namespace palimpsest::app {
namespace {

struct Rule {
    const char* command; // empty: every command
    const char* option;  // as it is typed, or the name of an argument
    ValueSource source;
};

std::vector<std::string> endings_of_documents()
{
    std::vector<std::string> endings;
    for (const std::string& ending : storage::document_endings())
        endings.push_back(ending.substr(1)); // without the dot
    return endings;
}

// The first rule that fits decides.
const std::vector<Rule>& rules()
{
    static const ValueSource documents{ValueKind::Files, endings_of_documents()};
    static const ValueSource with_exports = [] {
        ValueSource source = documents;
        source.words.emplace_back("palimpsest");
        return source;
    }();
    static const ValueSource any_file{ValueKind::Files}, sessions{ValueKind::Names, {"sessions"}},
        stored{ValueKind::Names, {"documents"}}, policies{ValueKind::Names, {"policies"}},
        models{ValueKind::Models};
    static const std::vector<Rule> all = {
        {"policies show", "NAME", policies},
        {"eval tasks", "FILE", {ValueKind::Files, {"jsonl", "json"}}},
        {"sessions export", "FILE", any_file},
        {"sessions import", "FILE", any_file},
        {"sessions transcript", "--output", {ValueKind::Files, {"md", "html", "json"}}},
        {"sessions import", "--name", {}},
        {"", "NAME", sessions},
        {"", "MODEL", models},
        {"", "DOCUMENT", stored},
        {"", "--document", stored},
        {"library export", "FILE", any_file},
        {"chat", "FILE", with_exports},
        {"read", "FILE", with_exports},
        {"summarize", "FILE", with_exports},
        {"", "FILE", documents},
        {"", "FILE QUESTION", with_exports},
        {"compare", "--session", {ValueKind::List, {"sessions"}}},
        {"", "--session", sessions},
        {"", "--model", models},
        {"", "--policy", policies},
        {"", "--policies", {ValueKind::List, {"policies"}}},
        {"", "--device", {ValueKind::Words, {"auto", "cpu", "cuda"}}},
        {"", "--simd", {ValueKind::Names, {"simd"}}},
        {"", "--positions", {ValueKind::Words, {"auto", "contiguous", "original"}}},
        {"", "--kv-type", {ValueKind::Words, {"auto", "f32", "f16", "bf16", "q8"}}},
        {"", "--snapshot", {ValueKind::Words, {"exact", "q8", "q4"}}},
        {"", "--budget", {ValueKind::Words, {"auto", "none"}}},
        {"", "--vocabulary", {ValueKind::Files, {"gguf", "json"}}},
        {"", "--token-ids", any_file},
        {"", "--db", {ValueKind::Files, {"db"}}},
        {"", "--map", {ValueKind::Files, {"png", "svg", "json", "csv"}}},
        {"", "--per-token", {ValueKind::Files, {"csv"}}},
    };
    return all;
}

// The values of a CLI::IsMember check, which the name of the type ends with: "TEXT:{auto,always,never}".
std::vector<std::string> checked_values(const CLI::Option& option)
{
    const std::string type = option.get_type_name();
    const size_t first = type.find(":{");
    if (first == std::string::npos || !type.ends_with('}')) return {};
    return CLI::detail::split(type.substr(first + 2, type.size() - first - 3), ',');
}

} // namespace

ValueSource value_source(const std::string& command, const CLI::Option& option)
{
    if (auto values = checked_values(option); !values.empty()) return {ValueKind::Words, std::move(values)};
    const std::string name = option.get_name(option.get_positional());
    const auto fits = [&](const Rule& rule) {
        return name == rule.option && (*rule.command == '\0' || command == rule.command);
    };
    const auto rule = std::find_if(rules().begin(), rules().end(), fits);
    return rule == rules().end() ? ValueSource{} : rule->source;
}

} // namespace palimpsest::app
