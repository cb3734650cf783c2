#include "engine/encoder/bert_tensors.h"

#include "engine/model/files/model_tensors.h"
#include "engine/model/files/refusal.h"
#include "kernels/base/convert.h"

namespace palimpsest::engine {
namespace {

void require_norm(const std::string& name, int64_t width, std::vector<RequiredTensor>& out)
{
    out.push_back({name + ".weight", 1, width, true});
    out.push_back({name + ".bias", 1, width, true});
}

void require_dense(const std::string& name, int64_t rows, int64_t cols, std::vector<RequiredTensor>& out)
{
    out.push_back({name + ".weight", rows, cols});
    out.push_back({name + ".bias", 1, rows, true});
}

std::vector<RequiredTensor> required_bert_tensors(const BertConfig& c)
{
    std::vector<RequiredTensor> out = {{"embeddings.word_embeddings.weight", c.vocabulary, c.width},
                                       {"embeddings.position_embeddings.weight", c.positions, c.width},
                                       {"embeddings.token_type_embeddings.weight", c.types, c.width}};
    require_norm("embeddings.LayerNorm", c.width, out);
    for (int32_t layer = 0; layer < c.layers; ++layer) {
        const std::string prefix = bert_layer_prefix(layer);
        for (const char* part : {"query", "key", "value"})
            require_dense(prefix + "attention.self." + part, c.width, c.width, out);
        require_dense(prefix + "attention.output.dense", c.width, c.width, out);
        require_norm(prefix + "attention.output.LayerNorm", c.width, out);
        require_dense(prefix + "intermediate.dense", c.ffn, c.width, out);
        require_dense(prefix + "output.dense", c.width, c.ffn, out);
        require_norm(prefix + "output.LayerNorm", c.width, out);
    }
    return out;
}

bool is_unused(const std::string& name)
{
    return name.starts_with("pooler.") || name == "embeddings.position_ids";
}

class TensorTable {
public:
    TensorTable(const std::shared_ptr<MappedFile>& file, const Refusal& refuse) : file_(file), refuse_(refuse)
    {
        SafetensorsFile parsed = parse_safetensors(file->bytes(), refuse);
        header_bytes_ = parsed.header_bytes;
        for (SafetensorsTensor& tensor : parsed.tensors) {
            const std::string name = tensor.name;
            if (!is_unused(name)) found_.emplace(name, std::move(tensor));
        }
    }

    uint64_t header_bytes() const { return header_bytes_; }

    void take(const RequiredTensor& required, BertTensors& out)
    {
        const auto at = found_.find(required.name);
        if (at == found_.end())
            refuse_.fail(ErrorCode::ModelS9, Text("tensor {0} is missing", in_quotes(required.name)),
                         Text("download the complete model"));
        const SafetensorsTensor& tensor = at->second;
        std::vector<uint64_t> shape = {static_cast<uint64_t>(required.cols)};
        if (!required.is_vector) shape.insert(shape.begin(), static_cast<uint64_t>(required.rows));
        if (tensor.shape != shape)
            refuse_.fail(ErrorCode::ModelS9,
                         Text("tensor {0} is {1}, the configuration requires {2}", in_quotes(tensor.name),
                              shape_text(tensor.shape), shape_text(shape)));
        if (!tensor.type)
            refuse_.fail(ErrorCode::ModelS3,
                         Text("tensor type {0} is not supported yet (tensor {1})", in_quotes(tensor.dtype),
                              in_quotes(tensor.name)),
                         Text("use a model whose tensors are F32, F16 or BF16"));
        const auto bytes = aligned(file_->bytes().subspan(tensor.offset, tensor.bytes), *tensor.type, out);
        out.tensors.emplace(required.name,
                            HostTensor{*tensor.type, required.rows, required.cols, bytes.data(), bytes.size()});
        found_.erase(at);
    }

    void refuse_others() const
    {
        if (!found_.empty())
            refuse_.fail(
                ErrorCode::ModelS9,
                Text("tensor {0} belongs to no layer of the configuration", in_quotes(found_.begin()->first)),
                Refusal::other_model());
    }

private:
    // A header of odd length puts every tensor at an odd address. The format allows this, the kernels do not.
    static std::span<const std::byte> aligned(std::span<const std::byte> bytes, kernels::DType type,
                                              BertTensors& out)
    {
        const auto alignment = static_cast<uintptr_t>(kernels::info(type).bytes);
        if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0) return bytes;
        out.memory.push_back(MappedFile::copy(bytes, out.memory.front()->name()));
        return out.memory.back()->bytes();
    }

    const std::shared_ptr<MappedFile>& file_;
    const Refusal& refuse_;
    uint64_t header_bytes_ = 0;
    std::map<std::string, SafetensorsTensor> found_;
};

} // namespace

std::vector<float> widened(const HostTensor& tensor)
{
    std::vector<float> values(static_cast<size_t>(tensor.rows * tensor.cols));
    kernels::to_f32(tensor.type, tensor.data, values.data(), static_cast<int64_t>(values.size()));
    return values;
}

std::string bert_layer_prefix(int32_t layer)
{
    return "encoder.layer." + std::to_string(layer) + ".";
}

BertTensors take_bert_tensors(const BertConfig& config, const std::shared_ptr<MappedFile>& file)
{
    const Refusal refuse(file->name());
    TensorTable table(file, refuse);
    BertTensors out;
    out.header_bytes = table.header_bytes();
    out.memory.push_back(file);
    for (const RequiredTensor& required : required_bert_tensors(config))
        table.take(required, out);
    table.refuse_others();
    return out;
}

} // namespace palimpsest::engine
