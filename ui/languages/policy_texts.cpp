// Prints the engine's policy descriptions as source that lupdate can read. The window looks up their translations
// with policy_text().
#include <cstdio>
#include <set>
#include <string>

#include "engine/policy/named/registry.h"

using namespace palimpsest;

// Titles, values and formulas are the same in every language, so they are not extracted.
static bool is_more_than_a_name(const std::string& text)
{
    return text.find("; ") != std::string::npos || text.rfind("ours", 0) == 0;
}

int main()
{
    std::set<std::string> texts;
    for (const engine::PolicyInfo& info : engine::policies()) {
        texts.insert({info.keeps, info.signals, info.cost, info.positions});
        if (is_more_than_a_name(info.paper)) texts.insert(info.paper);
        for (const engine::ParameterInfo& parameter : info.parameters) {
            texts.insert({parameter.meaning, parameter.range});
            if (is_more_than_a_name(parameter.default_text)) texts.insert(parameter.default_text);
        }
    }
    texts.erase("");
    for (const std::string& text : texts)
        std::printf("QT_TRANSLATE_NOOP(\"palimpsest::engine::policies\", R\"text(%s)text\")\n", text.c_str());
}
