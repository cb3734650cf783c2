#include "app/palimpsest/completion/offered_names.h"

#include <algorithm>

#include "app/palimpsest/output.h"
#include "app/palimpsest/wording.h"
#include "engine/policy/named/registry.h"
#include "kernels/cpu/simd_target.h"
#include "storage/models/model_finder.h"
#include "storage/session/store.h"
#include "storage/stored_names.h"

namespace palimpsest::app {
namespace {

// One line of printable characters.
bool can_be_offered(const OfferedName& offered)
{
    return offered.name.find_first_of("\t\n") == std::string::npos && visible(offered.name) == offered.name;
}

void add_stored(const std::vector<storage::StoredName>& stored, std::vector<OfferedName>& names)
{
    for (const storage::StoredName& of : stored)
        names.push_back({of.name, of.meaning});
}

std::vector<OfferedName> all_names(const std::string& what, const std::string& database)
{
    std::vector<OfferedName> names;
    if (what == "sessions")
        add_stored(storage::session_names(storage::database_file(database)), names);
    else if (what == "documents")
        add_stored(storage::document_names(storage::database_file(database)), names);
    else if (what == "models")
        for (const storage::FoundModel& model :
             storage::find_models(storage::model_folders(), storage::FindDetail::Names).models)
            names.push_back({model.name, for_scripts(storage::source_name(model.source))});
    else if (what == "policies")
        for (const engine::PolicyInfo& policy : engine::policies())
            names.push_back({policy.name, for_scripts(policy.keeps)});
    else
        for (const std::string& target : kernels::simd_targets())
            names.push_back({target});
    return names;
}

} // namespace

std::vector<OfferedName> offered_names(const std::string& what, const std::string& database)
{
    std::vector<OfferedName> names = all_names(what, database);
    std::erase_if(names, [](const OfferedName& offered) { return !can_be_offered(offered); });
    for (OfferedName& offered : names) {
        offered.meaning = visible(offered.meaning);
        std::replace(offered.meaning.begin(), offered.meaning.end(), '\n', ' ');
        std::replace(offered.meaning.begin(), offered.meaning.end(), '\t', ' ');
    }
    return names;
}

} // namespace palimpsest::app
