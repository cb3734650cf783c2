#include "tests/bench/speed_options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

namespace palimpsest::bench {
namespace {

constexpr const char* usage =
    "usage: speed-bench MODEL [--device NAME] [--threads N] [--chunk N] [--rows N] [--decode N]\n"
    "                   [--tasks TASK[=SECONDS],...]   of speeds, stream, depths, start\n"
    "                   [--budgets N,N] [--policies SPEC;SPEC] [--tokens N]\n"
    "                   [--stream N] [--window N] [--stream-budget N] [--stream-policies SPEC;SPEC]\n"
    "                   [--depths N,N] [--depth-budgets N,full] [--start N] [--repeats N]\n";

std::vector<std::string> parts_of(const std::string& text, char mark)
{
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, mark);)
        parts.push_back(part);
    return parts;
}

using Read = std::function<bool(const std::string&)>;

template<class Number>
bool read(const std::string& text, Number& to)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size();
}

template<class Number>
Read number(Number& to, Number least)
{
    return [&to, least](const std::string& text) { return read(text, to) && to >= least; };
}

Read word(std::string& to)
{
    return [&to](const std::string& text) { return to = text, true; };
}

Read words(std::vector<std::string>& to, char mark)
{
    return [&to, mark](const std::string& text) { return to = parts_of(text, mark), !to.empty(); };
}

template<class Number>
Read numbers(std::vector<Number>& to)
{
    return [&to](const std::string& text) {
        to.clear();
        for (const std::string& part : parts_of(text, ',')) {
            Number x = 0;
            if (part != "full" && (!read(part, x) || x < 1)) return false;
            to.push_back(x);
        }
        return !to.empty();
    };
}

Read tasks(std::vector<SpeedOptions::Task>& to)
{
    return [&to](const std::string& text) {
        to.clear();
        for (const std::string& part : parts_of(text, ',')) {
            const size_t mark = std::min(part.find('='), part.size());
            SpeedOptions::Task task{part.substr(0, mark)};
            const auto known = {"speeds", "stream", "depths", "start"};
            if (std::find(known.begin(), known.end(), task.name) == known.end()) return false;
            if (mark < part.size() && !read(part.substr(mark + 1), task.seconds)) return false;
            to.push_back(task);
        }
        return !to.empty();
    };
}

std::map<std::string, Read> readers(SpeedOptions& o)
{
    return {{"--device", word(o.device)},
            {"--threads", number(o.threads, 0)},
            {"--chunk", number(o.chunk, 1)},
            {"--rows", number(o.rows, 1)},
            {"--decode", number(o.decode, 1)},
            {"--tasks", tasks(o.tasks)},
            {"--budgets", numbers(o.budgets)},
            {"--policies", words(o.policies, ';')},
            {"--tokens", number(o.tokens, int64_t{1})},
            {"--stream", number(o.stream, int64_t{1})},
            {"--window", number(o.window, int64_t{1})},
            {"--stream-budget", number(o.stream_budget, 1)},
            {"--stream-policies", words(o.stream_policies, ';')},
            {"--depths", numbers(o.depths)},
            {"--depth-budgets", numbers(o.depth_budgets)},
            {"--start", number(o.start, int64_t{1})},
            {"--repeats", number(o.repeats, 1)}};
}

} // namespace

SpeedOptions SpeedOptions::parse(int argc, char** argv)
{
    SpeedOptions o;
    const auto known = readers(o);
    bool fits = true;
    for (int i = 1; i < argc && fits; ++i) {
        const std::string word = argv[i];
        const auto reader = known.find(word);
        if (!word.starts_with("--"))
            o.model = word;
        else
            fits = reader != known.end() && ++i < argc && reader->second(argv[i]);
    }
    fits = fits && !o.model.empty() && std::is_sorted(o.depths.begin(), o.depths.end());
    if (fits) return o;
    std::fputs(usage, stderr);
    std::exit(2);
}

} // namespace palimpsest::bench
