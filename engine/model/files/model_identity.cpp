#include "engine/model/files/model_identity.h"

#include <algorithm>

#include "engine/model/files/content_hash.h"
#include "engine/model/files/mapped_file.h"

namespace palimpsest::engine {

std::string model_fingerprint(const ModelFiles& files, const std::vector<std::span<const std::byte>>& headers)
{
    ContentHash hash;
    for (const auto& header : headers) {
        hash.add(uint64_t{header.size()}); // so that bytes cannot move to the next header unnoticed
        hash.add(header);
    }
    hash.add(files.file_bytes);
    for (const auto& [name, tensor] : files.tensors)
        hash.add_sample({tensor.data, tensor.bytes});
    return hash.hex();
}

std::string full_hash(const ModelFiles& files)
{
    constexpr size_t piece = size_t{1} << 24;
    ContentHash hash;
    for (const auto& file : files.mappings) {
        if (!file->is_file()) continue; // an aligned copy of a tensor
        auto rest = file->bytes();
        while (!rest.empty()) {
            const auto part = rest.first(std::min(piece, rest.size()));
            hash.add(part);
            rest = rest.subspan(part.size());
            file->check_unchanged();
        }
    }
    return hash.hex();
}

} // namespace palimpsest::engine
