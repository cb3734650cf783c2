// Writes the sentences of the policies, which the engine owns, as lupdate reads them: the window translates them as
// policy_text() asks for them.
#include <cstdio>
#include <set>
#include <string>

#include "engine/policy/registry.h"

using namespace palimpsest;

int main()
{
    std::set<std::string> texts;
    for (const engine::PolicyInfo& info : engine::policies()) {
        texts.insert({info.keeps, info.signals, info.cost, info.positions});
        for (const engine::ParameterInfo& parameter : info.parameters)
            texts.insert({parameter.meaning, parameter.range});
    }
    texts.erase("");
    for (const std::string& text : texts)
        std::printf("QT_TRANSLATE_NOOP(\"palimpsest::engine::policies\", R\"text(%s)text\")\n", text.c_str());
}
