#include "engine/model/files/model_files.h"

namespace palimpsest::engine {

const HostTensor* ModelFiles::find(const std::string& name) const
{
    const auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second;
}

} // namespace palimpsest::engine
