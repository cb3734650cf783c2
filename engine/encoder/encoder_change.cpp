#include "engine/encoder/encoder_change.h"

#include <string_view>
#include <utility>

#include "engine/model/files/model_tensors.h"
#include "engine/model/files/refusal.h"
#include "kernels/base/convert.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view up_suffix = ".up", down_suffix = ".down", add_suffix = ".add";

class Change {
public:
    Change(const BertTensors& tensors, const std::shared_ptr<MappedFile>& file)
        : file_(file), refuse_(file->name()), out_(tensors)
    {
        for (SafetensorsTensor& tensor : parse_safetensors(file->bytes(), refuse_).tensors) {
            std::string name = tensor.name;
            parts_.emplace(std::move(name), std::move(tensor));
        }
    }

    // Takes a vector that changes nothing out of what is applied.
    std::vector<float> take(const std::string& name, uint64_t size)
    {
        const auto found = parts_.find(name);
        if (found == parts_.end())
            refuse_.fail(ErrorCode::ModelS9, Text("tensor {0} is missing", in_quotes(name)),
                         Text("install the program again"));
        std::vector<float> values = numbers(found->second, {size});
        parts_.erase(found);
        return values;
    }

    BertTensors apply()
    {
        for (const auto& [name, part] : parts_) {
            if (name.ends_with(add_suffix))
                add_vector(name.substr(0, name.size() - add_suffix.size()), part);
            else if (name.ends_with(up_suffix))
                add_product(name.substr(0, name.size() - up_suffix.size()), part);
            else if (!name.ends_with(down_suffix) ||
                     !parts_.contains(name.substr(0, name.size() - down_suffix.size()) + std::string(up_suffix)))
                refuse_part(part);
        }
        return std::move(out_);
    }

private:
    [[noreturn]] void refuse_part(const SafetensorsTensor& part) const
    {
        refuse_.fail(ErrorCode::ModelS9, Text("tensor {0} changes no tensor of the encoder", in_quotes(part.name)),
                     Text("install the program again"));
    }

    HostTensor& tensor_of(const std::string& name, const SafetensorsTensor& part)
    {
        const auto found = out_.tensors.find(name);
        if (found == out_.tensors.end()) refuse_part(part);
        return found->second;
    }

    std::vector<float> numbers(const SafetensorsTensor& part, const std::vector<uint64_t>& shape) const
    {
        if (part.shape != shape || !part.type) refuse_part(part);
        const auto bytes = file_->bytes().subspan(part.offset, part.bytes);
        // In a file they may lie at any address.
        const auto aligned = MappedFile::copy(bytes, file_->name());
        uint64_t count = 1;
        for (const uint64_t extent : shape)
            count *= extent;
        std::vector<float> values(count);
        kernels::to_f32(*part.type, aligned->bytes().data(), values.data(), static_cast<int64_t>(count));
        return values;
    }

    void add_vector(const std::string& name, const SafetensorsTensor& part)
    {
        HostTensor& tensor = tensor_of(name, part);
        if (tensor.rows != 1) refuse_part(part);
        std::vector<float> values = widened(tensor);
        const std::vector<float> added = numbers(part, {values.size()});
        for (size_t i = 0; i < values.size(); ++i)
            values[i] += added[i];
        replace(tensor, values);
    }

    void add_product(const std::string& name, const SafetensorsTensor& part)
    {
        HostTensor& tensor = tensor_of(name, part);
        const auto down_part = parts_.find(name + std::string(down_suffix));
        if (down_part == parts_.end() || part.shape.size() != 2) refuse_part(part);
        const auto rows = static_cast<uint64_t>(tensor.rows), cols = static_cast<uint64_t>(tensor.cols);
        const uint64_t rank = part.shape[1];
        if (rank == 0 || rank > std::min(rows, cols)) refuse_part(part);
        const std::vector<float> up = numbers(part, {rows, rank}), down = numbers(down_part->second, {rank, cols});
        std::vector<float> values = widened(tensor);
        for (size_t row = 0; row < rows; ++row)
            for (size_t r = 0; r < rank; ++r)
                for (size_t col = 0; col < cols; ++col)
                    values[row * cols + col] += up[row * rank + r] * down[r * cols + col];
        replace(tensor, values);
    }

    void replace(HostTensor& tensor, const std::vector<float>& values)
    {
        out_.memory.push_back(MappedFile::copy(std::as_bytes(std::span(values)), file_->name()));
        const auto bytes = out_.memory.back()->bytes();
        tensor = {kernels::DType::F32, tensor.rows, tensor.cols, bytes.data(), bytes.size()};
    }

    const std::shared_ptr<MappedFile>& file_;
    Refusal refuse_;
    BertTensors out_;
    std::map<std::string, SafetensorsTensor> parts_;
};

} // namespace

BertTensors changed(const BertTensors& tensors, const std::shared_ptr<MappedFile>& change)
{
    return Change(tensors, change).apply();
}

ScoredChange scored_change(const BertTensors& tensors, int32_t width, const std::shared_ptr<MappedFile>& change)
{
    Change parts(tensors, change);
    std::vector<float> score = parts.take("score", static_cast<uint64_t>(width));
    return {parts.apply(), std::move(score)};
}

} // namespace palimpsest::engine
