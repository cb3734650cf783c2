#include "engine/model/files/gguf_model.h"

#include <algorithm>

#include "engine/model/files/gguf_config.h"
#include "engine/model/files/gguf_file.h"
#include "engine/model/files/gguf_vocabulary.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/model_tensors.h"
#include "engine/model/files/split_files.h"

namespace palimpsest::engine {
namespace {

void find_tensors(const GgufFile& file, std::span<const std::byte> bytes, const Refusal& refuse,
                  std::map<std::string, FoundTensor>& found)
{
    for (const GgufTensor& tensor : file.tensors()) {
        std::vector<uint64_t> shape(tensor.dims.begin(), tensor.dims.begin() + tensor.rank);
        std::reverse(shape.begin(), shape.end());
        const auto data = bytes.subspan(tensor.offset, tensor.bytes);
        const FoundTensor one = {tensor.name, shape, {tensor.type, 0, 0, data.data(), data.size()}};
        if (!found.emplace(tensor.name, one).second)
            refuse.fail(ErrorCode::ModelG18, Text("tensor {0} is in another part as well", in_quotes(tensor.name)));
    }
}

// Ollama's files store the image encoder ("v.") and the projector ("mm.") with the language model.
void drop_image_tensors(std::map<std::string, FoundTensor>& found, std::vector<Text>& warnings)
{
    const auto count = std::erase_if(
        found, [](const auto& entry) { return entry.first.starts_with("v.") || entry.first.starts_with("mm."); });
    if (count > 0) warnings.push_back(unused_image_tensors(count));
}

// Splits tensors that hold the matrices of all experts (outermost dimension: expert) into one tensor per expert.
void split_experts(std::map<std::string, FoundTensor>& found, const ModelConfig& config, const Refusal& refuse)
{
    const auto experts = static_cast<uint64_t>(config.experts.count);
    for (int32_t layer = 0; layer < config.layers && experts > 0; ++layer)
        for (const char* part : {"ffn_gate", "ffn_up", "ffn_down"}) {
            const std::string name = "blk." + std::to_string(layer) + "." + part;
            const auto at = found.find(name + "_exps.weight");
            if (at == found.end()) continue; // older files store one tensor per expert
            const FoundTensor all = at->second;
            found.erase(at);
            if (all.shape.size() != 3 || all.shape[0] != experts)
                refuse.fail(ErrorCode::ModelG14,
                            Text("tensor {0} does not hold {1} experts", in_quotes(all.label), experts));
            const size_t each = all.tensor.bytes / experts;
            for (uint64_t e = 0; e < experts; ++e) {
                FoundTensor one = {all.label, {all.shape[1], all.shape[2]}, all.tensor};
                one.tensor.data += e * each;
                one.tensor.bytes = each;
                const bool is_new =
                    found.emplace(name + "." + std::to_string(e) + ".weight", std::move(one)).second;
                if (!is_new)
                    refuse.fail(ErrorCode::ModelG14,
                                Text("tensor {0} comes a second time in parts", in_quotes(all.label)));
            }
        }
}

} // namespace

ModelFiles open_gguf(const std::shared_ptr<MappedFile>& file)
{
    return open_gguf(std::vector{file});
}

ModelFiles open_gguf(const std::vector<std::shared_ptr<MappedFile>>& parts)
{
    const Refusal refuse(parts.front()->name());
    ModelFiles model;
    std::vector<GgufFile> files;
    std::vector<std::span<const std::byte>> headers;
    for (const auto& part : parts) {
        files.push_back(GgufFile::parse(part->bytes(), Refusal(part->name())));
        headers.push_back(part->bytes().first(files.back().header_bytes()));
        model.file_bytes += part->bytes().size();
    }
    check_split(files, refuse);
    const GgufFile& gguf = files.front(); // its metadata applies to all parts
    std::map<std::string, FoundTensor> found;
    for (size_t i = 0; i < parts.size(); ++i)
        find_tensors(files[i], parts[i]->bytes(), refuse, found);
    model.path = parts.front()->name();
    model.format = "GGUF v" + std::to_string(gguf.version());
    model.mappings = parts;
    model.config = read_gguf_config(gguf, found, refuse);
    model.vocabulary =
        gguf_vocabulary(gguf, static_cast<uint64_t>(model.config.vocabulary), refuse, model.warnings);

    model.config.tied_embeddings = !found.contains("output.weight");
    model.config.qkv_bias = model.config.qkv_bias || found.contains("blk.0.attn_q.bias");
    read_rope_tensors(found, model.config, refuse);
    split_experts(found, model.config, refuse);
    drop_image_tensors(found, model.warnings);
    model.tensors = take_tensors(model.config, std::move(found), refuse, ErrorCode::ModelG14, model.warnings);
    const char* attention = model.config.fused_qkv ? "blk.0.attn_qkv.weight" : "blk.0.attn_q.weight";
    model.config.stored_type = model.find(attention)->type;
    model.parameters = parameter_count(model.config);
    model.fingerprint = model_fingerprint(model, headers);
    for (const auto& part : parts)
        part->check_unchanged();
    return model;
}

} // namespace palimpsest::engine
