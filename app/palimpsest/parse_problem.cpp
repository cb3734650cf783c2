#include "app/palimpsest/parse_problem.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::app {
namespace {

using Parts = std::vector<std::string>;

std::string one_line(std::string text)
{
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (text.ends_with(' '))
        text.pop_back();
    return text;
}

// Splits the text at the marks, which must occur in it in this order; returns nothing if one is missing.
Parts parts_at(std::string_view text, std::initializer_list<std::string_view> marks)
{
    Parts parts;
    for (const std::string_view mark : marks) {
        const size_t at = text.find(mark);
        if (at == std::string_view::npos) return {};
        parts.emplace_back(text.substr(0, at));
        text.remove_prefix(at + mark.size());
    }
    parts.emplace_back(text);
    return parts;
}

// The message is "NAME: what is wrong".
Text invalid_value(const std::string& message)
{
    if (const Parts p = parts_at(message, {": Value ", " not in range ", " to "}); !p.empty())
        return Text("{0}: Value {1} not in range {2} to {3}", p[0], p[1], p[2], p[3]);
    const Parts p = parts_at(message, {": "});
    if (p.empty()) return Text::verbatim(message);
    for (const Text& why : {Text("it is empty"), Text("there is no {} in it, where the question goes")})
        if (p[1] == why.english()) return Text("{0}: {1}", p[0], why);
    if (const Parts set = parts_at(p[1], {" not in {"}); !set.empty())
        return Text("{0}: {1} not in {2}", p[0], set[0], "{" + set[1]);
    return Text::verbatim(message);
}

Text unconverted_value(const std::string& message)
{
    if (const Parts p = parts_at(message, {"Could not convert: ", " = "}); !p.empty())
        return Text("Could not convert: {0} = {1}", p[1], p[2]);
    if (const Parts p = parts_at(message, {"The value ", " is not an allowed value for "}); !p.empty())
        return Text("The value {0} is not an allowed value for {1}", p[1], p[2]);
    if (const Parts p = parts_at(message, {": Should be true/false or a number"}); !p.empty())
        return Text("{0}: Should be true/false or a number", p[0]);
    return Text::verbatim(message);
}

Text wrong_count(const std::string& message)
{
    if (const Parts p = parts_at(message, {": 1 required ", " missing"}); !p.empty())
        return Text("{0} needs a value", p[0]);
    if (const Parts p = parts_at(message, {": At Most ", " required but received "}); !p.empty())
        return Text("{0}: At Most {1} required but received {2}", p[0], p[1], p[2]);
    if (const Parts p = parts_at(message, {": At least ", " required but received "}); !p.empty())
        return Text("{0}: At least {1} required but received {2}", p[0], p[1], p[2]);
    return Text::verbatim(message);
}

} // namespace

Text parse_problem(const CLI::ParseError& error)
{
    const std::string message = one_line(error.what());
    switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
        if (const Parts p = parts_at(message, {"The following argument was not expected: "}); !p.empty())
            return Text("The following argument was not expected: {0}", p[1]);
        if (const Parts p = parts_at(message, {"The following arguments were not expected: "}); !p.empty())
            return Text("The following arguments were not expected: {0}", p[1]);
        break;
    case CLI::ExitCodes::RequiredError:
        if (message == "A subcommand is required") return Text("A subcommand is required");
        if (const Parts p = parts_at(message, {" is required"}); !p.empty()) return Text("{0} is required", p[0]);
        break;
    case CLI::ExitCodes::RequiresError:
        if (const Parts p = parts_at(message, {" requires "}); !p.empty())
            return Text("{0} requires {1}", p[0], p[1]);
        break;
    case CLI::ExitCodes::ExcludesError:
        if (const Parts p = parts_at(message, {" excludes "}); !p.empty())
            return Text("{0} excludes {1}", p[0], p[1]);
        break;
    case CLI::ExitCodes::ValidationError:
        return invalid_value(message);
    case CLI::ExitCodes::ConversionError:
        return unconverted_value(message);
    case CLI::ExitCodes::ArgumentMismatch:
        return wrong_count(message);
    default:
        break;
    }
    return Text::verbatim(message);
}

} // namespace palimpsest::app
