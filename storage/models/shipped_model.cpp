#include "storage/models/shipped_model.h"

namespace palimpsest::storage {

std::filesystem::path shipped_model()
{
    std::error_code ignored;
    if (std::filesystem::exists(PALIMPSEST_INSTALLED_MODEL, ignored)) return PALIMPSEST_INSTALLED_MODEL;
    return PALIMPSEST_SHIPPED_MODEL;
}

} // namespace palimpsest::storage
