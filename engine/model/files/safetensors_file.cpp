#include "engine/model/files/safetensors_file.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "engine/model/config/limits.h"
#include "engine/model/files/byte_cursor.h"
#include "engine/model/files/strict_json.h"
#include "kernels/base/checked.h"

namespace palimpsest::engine {
namespace {

using kernels::DType;
using nlohmann::json;

struct StoredType {
    uint64_t bits;
    std::optional<DType> type;
};

const std::unordered_map<std::string, StoredType>& stored_types()
{
    static const std::unordered_map<std::string, StoredType> types = {
        {"F32", {32, DType::F32}},      {"F16", {16, DType::F16}},      {"BF16", {16, DType::BF16}},
        {"F64", {64, std::nullopt}},    {"I64", {64, std::nullopt}},    {"U64", {64, std::nullopt}},
        {"I32", {32, std::nullopt}},    {"U32", {32, std::nullopt}},    {"I16", {16, std::nullopt}},
        {"U16", {16, std::nullopt}},    {"I8", {8, std::nullopt}},      {"U8", {8, std::nullopt}},
        {"BOOL", {8, std::nullopt}},    {"F8_E4M3", {8, std::nullopt}}, {"F8_E5M2", {8, std::nullopt}},
        {"F8_E8M0", {8, std::nullopt}}, {"C64", {64, std::nullopt}},    {"F4", {4, std::nullopt}},
        {"F6_E2M3", {6, std::nullopt}}, {"F6_E3M2", {6, std::nullopt}}};
    return types;
}

class HeaderReader {
public:
    HeaderReader(std::span<const std::byte> bytes, const Refusal& refuse) : bytes_(bytes), refuse_(refuse) {}

    SafetensorsFile read()
    {
        const std::string_view header = header_text();
        const json root = parse_strict_json(header, {limits::header_json_depth, limits::header_json_values},
                                            refuse_, ErrorCode::ModelS2);
        file_.header_bytes = sizeof(uint64_t) + header.size();
        if (root.size() > limits::tensors + 1)
            refuse_.fail(ErrorCode::ModelS3,
                         Text("it claims {0} tensors, the limit is {1}", root.size(), limits::tensors),
                         Refusal::other_model());
        for (const auto& [name, entry] : root.items()) {
            if (name == "__metadata__")
                check_metadata(entry);
            else
                read_entry(name, entry);
        }
        check_layout();
        return std::move(file_);
    }

private:
    std::string_view header_text() const
    {
        if (bytes_.size() < 10)
            refuse_.fail(ErrorCode::ModelS1,
                         Text("the file has {0} bytes, a safetensors file at least 10", bytes_.size()));
        ByteCursor cursor(bytes_);
        const uint64_t length = *cursor.read<uint64_t>();
        if (length < 2 || length > limits::safetensors_header_bytes) {
            refuse_.fail(ErrorCode::ModelS1, Text("its header has {0} bytes, expected 2 to {1}", length,
                                                  limits::safetensors_header_bytes));
        }
        const auto header = cursor.take(length);
        if (!header) {
            refuse_.fail(ErrorCode::ModelS1,
                         Text("its header ends at byte {0} but the file has {1} bytes: the file is truncated",
                              sizeof(uint64_t) + length, bytes_.size()),
                         Text("download it again"));
        }
        const std::string_view text(reinterpret_cast<const char*>(header->data()), header->size());
        if (text.front() != '{') refuse_.fail(ErrorCode::ModelS1, Text("its header does not begin with '{'"));
        return text;
    }

    void check_metadata(const json& metadata) const
    {
        if (!metadata.is_object()) refuse_.fail(ErrorCode::ModelS7, Text("'__metadata__' is not an object"));
        uint64_t bytes = 0;
        for (const auto& [key, value] : metadata.items()) {
            if (!value.is_string())
                refuse_.fail(ErrorCode::ModelS7,
                             Text("'__metadata__' has a value that is not a string: {0}", in_quotes(key)));
            bytes += key.size() + value.get_ref<const std::string&>().size();
        }
        if (bytes > limits::safetensors_metadata_bytes) {
            refuse_.fail(
                ErrorCode::ModelS7,
                Text("'__metadata__' has {0} bytes, the limit is {1}", bytes, limits::safetensors_metadata_bytes),
                Refusal::other_model());
        }
    }

    void read_entry(const std::string& name, const json& entry)
    {
        const Text thing("tensor {0}", in_quotes(name));
        if (name.empty() || name.size() > limits::safetensors_name_bytes)
            refuse_.fail(ErrorCode::ModelS3,
                         Text("{0} has a name of {1} bytes, expected 1 to 256", thing, name.size()));
        if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
            !entry.contains("data_offsets"))
            refuse_.fail(ErrorCode::ModelS3,
                         Text("{0} does not have exactly dtype, shape and data_offsets", thing));
        const json& dtype = entry["dtype"];
        if (!dtype.is_string())
            refuse_.fail(ErrorCode::ModelS3, Text("{0} has a dtype that is not a string", thing));
        SafetensorsTensor tensor;
        tensor.name = name;
        tensor.dtype = dtype.get<std::string>();
        const auto stored = stored_types().find(tensor.dtype);
        if (stored == stored_types().end())
            refuse_.fail(ErrorCode::ModelS3, Text("{0} has the unknown dtype {1}", thing, in_quotes(tensor.dtype)));
        tensor.type = stored->second.type;
        const uint64_t elements = read_shape(tensor, entry["shape"], thing);
        read_offsets(tensor, entry["data_offsets"], elements, stored->second.bits, thing);
        file_.tensors.push_back(std::move(tensor));
    }

    // Returns the number of elements.
    uint64_t read_shape(SafetensorsTensor& tensor, const json& shape, const Text& thing) const
    {
        if (!shape.is_array() || shape.size() > limits::safetensors_rank)
            refuse_.fail(ErrorCode::ModelS4,
                         Text("{0} has a shape that is not a list of at most 8 dimensions", thing));
        uint64_t product = 1;
        for (const json& dim : shape) {
            if (!dim.is_number_unsigned() || dim.get<uint64_t>() > limits::elements)
                refuse_.fail(ErrorCode::ModelS4,
                             Text("{0} has a dimension that is not an integer from 0 to 2^48", thing));
            tensor.shape.push_back(dim.get<uint64_t>());
            const auto next = checked_mul(product, tensor.shape.back());
            if (!next || *next > limits::elements)
                refuse_.fail(ErrorCode::ModelS4, Text("{0} has more than 2^48 elements", thing));
            product = *next;
        }
        return product;
    }

    void read_offsets(SafetensorsTensor& tensor, const json& offsets, uint64_t elements, uint64_t bits,
                      const Text& thing) const
    {
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned())
            refuse_.fail(ErrorCode::ModelS5, Text("{0} has data_offsets that are not two integers", thing));
        const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
        const uint64_t available = bytes_.size() - file_.header_bytes;
        if (begin > end)
            refuse_.fail(ErrorCode::ModelS5, Text("{0} begins at {1} after its end {2}", thing, begin, end));
        if (end > available) {
            refuse_.fail(ErrorCode::ModelS5,
                         Text("{0} ends at byte {1} of the data but the file has {2}: the file is truncated", thing,
                              end, available),
                         Text("download it again"));
        }
        if (elements * bits % 8 != 0)
            refuse_.fail(ErrorCode::ModelS5, Text("{0} does not fill whole bytes", thing));
        if (end - begin != elements * bits / 8) {
            refuse_.fail(ErrorCode::ModelS5, Text("{0} has {1} bytes, its shape and dtype need {2}", thing,
                                                  end - begin, elements * bits / 8));
        }
        tensor.offset = file_.header_bytes + begin;
        tensor.bytes = end - begin;
    }

    void check_layout()
    {
        std::sort(file_.tensors.begin(), file_.tensors.end(), [](const auto& a, const auto& b) {
            return std::tie(a.offset, a.bytes) < std::tie(b.offset, b.bytes);
        });
        uint64_t expected = file_.header_bytes;
        for (const SafetensorsTensor& tensor : file_.tensors) {
            if (tensor.offset != expected) {
                refuse_.fail(ErrorCode::ModelS6,
                             Text("tensor {0} begins at byte {1}, the one before it ends at {2}",
                                  in_quotes(tensor.name), tensor.offset, expected));
            }
            expected += tensor.bytes;
        }
        if (expected != bytes_.size()) {
            refuse_.fail(ErrorCode::ModelS6, Text("the last tensor ends at byte {0} but the file has {1} bytes",
                                                  expected, bytes_.size()));
        }
    }

    std::span<const std::byte> bytes_;
    const Refusal& refuse_;
    SafetensorsFile file_;
};

} // namespace

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const Refusal& refuse)
{
    return HeaderReader(bytes, refuse).read();
}

} // namespace palimpsest::engine
