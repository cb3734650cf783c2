#include "engine/model/files/hf_folder.h"

#include <algorithm>

#include "engine/model/config/limits.h"
#include "engine/model/files/folder_file.h"
#include "engine/model/files/hf_config.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/model_tensors.h"
#include "engine/model/files/safetensors_file.h"
#include "engine/model/files/shard_index.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

[[noreturn]] void fail_without_weights(const fs::path& folder)
{
    std::error_code ignored;
    const bool has_pickle = fs::exists(folder / "pytorch_model.bin", ignored) ||
                            fs::exists(folder / "pytorch_model.bin.index.json", ignored);
    throw Error(ErrorKind::NotFound, ErrorCode::ModelS8, Text::verbatim(folder.string()),
                has_pickle ? Text("its weights are a pytorch_model.bin, which can run code and is not read")
                           : Text("it has neither model.safetensors nor model.safetensors.index.json"),
                has_pickle ? Text("get the safetensors version") : Text("choose a model folder or a .gguf file"));
}

void open_weights(HfFiles& files)
{
    if (auto single = find_folder_file(files.folder, single_name, limits::file_bytes, ErrorCode::ModelS1)) {
        files.weights.emplace(single_name, std::move(single));
        return;
    }
    files.index = find_folder_file(files.folder, index_name, limits::tokenizer_bytes, ErrorCode::ModelS8);
    if (!files.index) fail_without_weights(files.folder);
    for (const auto& [tensor, shard] : parse_shard_index(files.index->text(), Refusal(files.index->name())))
        if (!files.weights.contains(shard))
            files.weights.emplace(shard,
                                  open_folder_file(files.folder, shard, limits::file_bytes, ErrorCode::ModelS8));
}

HfTokenizerFiles open_tokenizer(const fs::path& folder)
{
    HfTokenizerFiles files;
    files.model = find_folder_file(folder, "tokenizer.model", limits::tokenizer_bytes, ErrorCode::ModelT1);
    files.config = find_folder_file(folder, "tokenizer_config.json", limits::tokenizer_bytes, ErrorCode::ModelT1);
    files.chat_template =
        find_folder_file(folder, "chat_template.jinja", limits::chat_template_bytes, ErrorCode::ModelT1);
    files.tokenizer_json = find_folder_file(folder, "tokenizer.json", limits::tokenizer_bytes, ErrorCode::ModelT1);
    files.generation_config =
        find_folder_file(folder, "generation_config.json", limits::config_bytes, ErrorCode::ModelC1);
    return files;
}

// Strips the prefix that tensors of the text model have in a multimodal model.
std::string name_in_text_model(const std::string& name)
{
    constexpr std::string_view outer = "language_model.", inner = "model.language_model.";
    if (name.starts_with(outer)) return name.substr(outer.size());
    if (name.starts_with(inner)) return "model." + name.substr(inner.size());
    return name;
}

// "mlp.experts.7.up_proj" becomes "mlp.experts.*.up_proj" and "7".
std::pair<std::string, std::string> without_number(const std::string& part)
{
    constexpr std::string_view experts = "experts.";
    const size_t at = part.find(experts);
    if (at == std::string::npos) return {part, ""};
    const size_t begin = at + experts.size(), end = std::min(part.find('.', begin), part.size());
    return {part.substr(0, begin) + "*" + part.substr(end), part.substr(begin, end - begin)};
}

// "self_attn.q_proj" becomes "attn_q"; empty for unknown names.
std::string gguf_part(const std::string& name, const Family& family)
{
    static const std::map<std::string_view, std::string_view> parts = {{"input_layernorm", "attn_norm"},
                                                                       {"self_attn.q_proj", "attn_q"},
                                                                       {"self_attn.k_proj", "attn_k"},
                                                                       {"self_attn.v_proj", "attn_v"},
                                                                       {"self_attn.o_proj", "attn_output"},
                                                                       {"mlp.gate_proj", "ffn_gate"},
                                                                       {"post_attention_layernorm", "ffn_norm"},
                                                                       {"mlp.up_proj", "ffn_up"},
                                                                       {"mlp.down_proj", "ffn_down"},
                                                                       {"self_attn.q_norm", "attn_q_norm"},
                                                                       {"self_attn.k_norm", "attn_k_norm"}};
    const auto [part, number] = without_number(name);
    for (const auto& [theirs, ours] : family.tensor_names) {
        if (theirs != part) continue;
        std::string found(ours);
        if (const size_t star = found.find('*'); star != std::string::npos) found.replace(star, 1, number);
        return found;
    }
    const auto found = parts.find(part);
    return found == parts.end() ? std::string() : std::string(found->second);
}

// "model.layers.3.self_attn.q_proj.weight" becomes "blk.3.attn_q.weight"; other names are unchanged.
std::string gguf_name(const std::string& name, const Family& family)
{
    static const std::map<std::string_view, std::string_view> whole = {
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.norm.weight", "output_norm.weight"},
        {"lm_head.weight", "output.weight"}};
    if (const auto at = whole.find(name); at != whole.end()) return std::string(at->second);
    constexpr std::string_view prefix = "model.layers.";
    if (!name.starts_with(prefix)) return name;
    const size_t dot = name.find('.', prefix.size()), last = name.rfind('.');
    if (dot == std::string::npos || last <= dot) return name;
    const std::string part = gguf_part(name.substr(dot + 1, last - dot - 1), family);
    if (part.empty()) return name;
    return "blk." + name.substr(prefix.size(), dot - prefix.size()) + "." + part + name.substr(last);
}

// The folder's name; in the hub's cache, models--OWNER--NAME/snapshots/REVISION, the repository's name.
std::string name_of(const fs::path& folder)
{
    constexpr std::string_view prefix = "models--";
    std::string name = folder.parent_path().parent_path().filename().string();
    if (folder.parent_path().filename() != "snapshots" || !name.starts_with(prefix))
        return folder.filename().string();
    name.erase(0, prefix.size());
    if (const size_t separator = name.find("--"); separator != std::string::npos) name.replace(separator, 2, "/");
    return name;
}

// Merges the shards' tensor tables and checks them against the index and the configuration.
class Assembly {
public:
    explicit Assembly(const HfFiles& files) : files_(files), refuse_(files.folder.string()) {}

    ModelFiles build()
    {
        config_ = parse_hf_config(files_.config->text(), Refusal(files_.config->name()));
        model_.path = files_.folder;
        model_.format = "safetensors";
        model_.config = config_.model;
        model_.config.name = printable(name_of(files_.folder));
        keep(files_.config), keep(files_.index);
        for (const auto& [name, file] : files_.weights)
            read_weights(name, file);
        check_index();
        check_size();
        drop_derived_tensors();
        if (config_.is_part) drop_other_parts();
        model_.tensors =
            take_tensors(model_.config, std::move(found_), refuse_, ErrorCode::ModelS9, model_.warnings);
        model_.vocabulary = hf_vocabulary(files_.tokenizer, config_, model_.warnings);
        keep(files_.tokenizer.model), keep(files_.tokenizer.config), keep(files_.tokenizer.chat_template);
        keep(files_.tokenizer.tokenizer_json), keep(files_.tokenizer.generation_config);
        if (files_.tokenizer.model) headers_.push_back(files_.tokenizer.model->bytes());
        if (files_.tokenizer.tokenizer_json) headers_.push_back(files_.tokenizer.tokenizer_json->bytes());
        headers_.push_back(files_.config->bytes());
        model_.config.stored_type =
            model_.find(model_.config.fused_qkv ? "blk.0.attn_qkv.weight" : "blk.0.attn_q.weight")->type;
        model_.parameters = parameter_count(model_.config);
        align_tensors();
        model_.fingerprint = model_fingerprint(model_, headers_);
        for (const auto& file : model_.mappings)
            file->check_unchanged();
        return std::move(model_);
    }

private:
    void keep(const std::shared_ptr<MappedFile>& file)
    {
        if (!file) return;
        model_.mappings.push_back(file);
        model_.file_bytes += file->bytes().size();
    }

    void read_weights(const std::string& shard, const std::shared_ptr<MappedFile>& file)
    {
        const Refusal refuse(file->name());
        const SafetensorsFile parsed = parse_safetensors(file->bytes(), refuse);
        for (const SafetensorsTensor& tensor : parsed.tensors) {
            if (!shard_of_.emplace(tensor.name, shard).second)
                refuse.fail(ErrorCode::ModelS8,
                            Text("tensor {0} is in another shard as well", in_quotes(tensor.name)));
            add_tensor(tensor, file->bytes().subspan(tensor.offset, tensor.bytes), refuse);
        }
        headers_.push_back(file->bytes().first(parsed.header_bytes));
        keep(file);
    }

    void add_tensor(const SafetensorsTensor& tensor, std::span<const std::byte> data, const Refusal& refuse)
    {
        tensor_bytes_ += data.size();
        const std::string own = config_.is_part ? name_in_text_model(tensor.name) : tensor.name;
        const std::string name = gguf_name(own, *config_.family);
        const bool is_ours = name != own;
        if (is_ours && !tensor.type) {
            refuse.fail(ErrorCode::ModelS3,
                        Text("tensor type {0} is not supported yet (tensor {1})", in_quotes(tensor.dtype),
                             in_quotes(tensor.name)),
                        Text("use a model whose tensors are F32, F16 or BF16"));
        }
        const HostTensor host = {tensor.type.value_or(kernels::DType::F32), 0, 0, data.data(), data.size()};
        const bool is_new = found_.emplace(name, FoundTensor{tensor.name, tensor.shape, host}).second;
        if (!is_new)
            refuse.fail(ErrorCode::ModelS8, Text("tensor {0} comes under two names", in_quotes(tensor.name)));
    }

    void check_index() const
    {
        if (!files_.index) return;
        const Refusal refuse(files_.index->name());
        for (const auto& [tensor, shard] : parse_shard_index(files_.index->text(), refuse)) {
            const auto at = shard_of_.find(tensor);
            if (at == shard_of_.end() || at->second != shard)
                refuse.fail(ErrorCode::ModelS8,
                            Text("tensor {0} is not in {1}", in_quotes(tensor), in_quotes(shard)),
                            Text("download the complete model"));
        }
    }

    void check_size() const
    {
        constexpr uint64_t smallest = 2; // bytes of a parameter in the smallest supported type
        const auto needed = static_cast<uint64_t>(parameter_count(model_.config)) * smallest;
        if (needed > tensor_bytes_) {
            refuse_.fail(ErrorCode::ModelC7,
                         Text("the configuration describes at least {0} bytes of weights but the files have {1}",
                              needed, tensor_bytes_),
                         Text("download the complete model"));
        }
    }

    // Drops tensors that repeat the configuration: rotary frequencies in old files, and the output matrix of a tied
    // model.
    void drop_derived_tensors()
    {
        std::erase_if(found_, [](const auto& entry) { return entry.first.ends_with("rotary_emb.inv_freq"); });
        if (model_.config.tied_embeddings) found_.erase("output.weight");
    }

    void drop_other_parts()
    {
        const auto count = std::erase_if(found_,
                                         [](const auto& entry) {
                                             return !entry.first.starts_with("blk.") &&
                                                    entry.first.find("vision") != std::string::npos;
                                         }) +
                           std::erase_if(found_, [](const auto& entry) {
                               return entry.first.find("multi_modal_projector") != std::string::npos;
                           });
        if (count > 0) model_.warnings.push_back(unused_image_tensors(count));
    }

    // A header of odd length puts every tensor at an odd address. The format allows this, the kernels do not.
    void align_tensors()
    {
        for (auto& [name, tensor] : model_.tensors) {
            const auto alignment = static_cast<uintptr_t>(kernels::info(tensor.type).bytes);
            if (reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0) continue;
            const auto copy = MappedFile::copy({tensor.data, tensor.bytes}, name);
            tensor.data = copy->bytes().data();
            model_.mappings.push_back(copy);
        }
    }

    const HfFiles& files_;
    Refusal refuse_;
    HfConfig config_;
    ModelFiles model_;
    std::map<std::string, FoundTensor> found_;
    std::map<std::string, std::string> shard_of_;
    std::vector<std::span<const std::byte>> headers_;
    uint64_t tensor_bytes_ = 0;
};

} // namespace

ModelFiles assemble_hf_model(const HfFiles& files)
{
    return Assembly(files).build();
}

ModelFiles open_hf_folder(const fs::path& folder)
{
    HfFiles files;
    files.folder = folder;
    files.config = open_folder_file(folder, "config.json", limits::config_bytes, ErrorCode::ModelC1);
    open_weights(files);
    files.tokenizer = open_tokenizer(folder);
    return assemble_hf_model(files);
}

} // namespace palimpsest::engine
