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
        const json root =
            parse_strict_json(header, {limits::header_json_depth, limits::header_json_values}, refuse_, "S2");
        file_.header_bytes = sizeof(uint64_t) + header.size();
        if (root.size() > limits::tensors + 1)
            refuse_.fail("S3",
                         "it claims " + std::to_string(root.size()) + " tensors, the limit is " +
                             std::to_string(limits::tensors),
                         Refusal::other_model);
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
            refuse_.fail("S1", "the file has " + std::to_string(bytes_.size()) +
                                   " bytes, a safetensors file at least 10");
        ByteCursor cursor(bytes_);
        const uint64_t length = *cursor.read<uint64_t>();
        if (length < 2 || length > limits::safetensors_header_bytes) {
            refuse_.fail("S1", "its header has " + std::to_string(length) + " bytes, expected 2 to " +
                                   std::to_string(limits::safetensors_header_bytes));
        }
        const auto header = cursor.take(length);
        if (!header) {
            refuse_.fail("S1",
                         "its header ends at byte " + std::to_string(sizeof(uint64_t) + length) +
                             " but the file has " + std::to_string(bytes_.size()) + " bytes: the file is truncated",
                         "download it again");
        }
        const std::string_view text(reinterpret_cast<const char*>(header->data()), header->size());
        if (text.front() != '{') refuse_.fail("S1", "its header does not begin with '{'");
        return text;
    }

    void check_metadata(const json& metadata) const
    {
        if (!metadata.is_object()) refuse_.fail("S7", "'__metadata__' is not an object");
        uint64_t bytes = 0;
        for (const auto& [key, value] : metadata.items()) {
            if (!value.is_string())
                refuse_.fail("S7", "'__metadata__' has a value that is not a string: " + in_quotes(key));
            bytes += key.size() + value.get_ref<const std::string&>().size();
        }
        if (bytes > limits::safetensors_metadata_bytes) {
            refuse_.fail("S7",
                         "'__metadata__' has " + std::to_string(bytes) + " bytes, the limit is " +
                             std::to_string(limits::safetensors_metadata_bytes),
                         Refusal::other_model);
        }
    }

    void read_entry(const std::string& name, const json& entry)
    {
        const std::string thing = "tensor " + in_quotes(name);
        if (name.empty() || name.size() > limits::safetensors_name_bytes)
            refuse_.fail("S3",
                         thing + " has a name of " + std::to_string(name.size()) + " bytes, expected 1 to 256");
        if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
            !entry.contains("data_offsets"))
            refuse_.fail("S3", thing + " does not have exactly dtype, shape and data_offsets");
        const json& dtype = entry["dtype"];
        if (!dtype.is_string()) refuse_.fail("S3", thing + " has a dtype that is not a string");
        SafetensorsTensor tensor;
        tensor.name = name;
        tensor.dtype = dtype.get<std::string>();
        const auto stored = stored_types().find(tensor.dtype);
        if (stored == stored_types().end())
            refuse_.fail("S3", thing + " has the unknown dtype " + in_quotes(tensor.dtype));
        tensor.type = stored->second.type;
        const uint64_t elements = read_shape(tensor, entry["shape"], thing);
        read_offsets(tensor, entry["data_offsets"], elements, stored->second.bits, thing);
        file_.tensors.push_back(std::move(tensor));
    }

    // Returns the number of elements.
    uint64_t read_shape(SafetensorsTensor& tensor, const json& shape, const std::string& thing) const
    {
        if (!shape.is_array() || shape.size() > limits::safetensors_rank)
            refuse_.fail("S4", thing + " has a shape that is not a list of at most 8 dimensions");
        uint64_t product = 1;
        for (const json& dim : shape) {
            if (!dim.is_number_unsigned() || dim.get<uint64_t>() > limits::elements)
                refuse_.fail("S4", thing + " has a dimension that is not an integer from 0 to 2^48");
            tensor.shape.push_back(dim.get<uint64_t>());
            const auto next = checked_mul(product, tensor.shape.back());
            if (!next || *next > limits::elements) refuse_.fail("S4", thing + " has more than 2^48 elements");
            product = *next;
        }
        return product;
    }

    void read_offsets(SafetensorsTensor& tensor, const json& offsets, uint64_t elements, uint64_t bits,
                      const std::string& thing) const
    {
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned())
            refuse_.fail("S5", thing + " has data_offsets that are not two integers");
        const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
        const uint64_t available = bytes_.size() - file_.header_bytes;
        if (begin > end)
            refuse_.fail("S5",
                         thing + " begins at " + std::to_string(begin) + " after its end " + std::to_string(end));
        if (end > available) {
            refuse_.fail("S5",
                         thing + " ends at byte " + std::to_string(end) + " of the data but the file has " +
                             std::to_string(available) + ": the file is truncated",
                         "download it again");
        }
        if (elements * bits % 8 != 0) refuse_.fail("S5", thing + " does not fill whole bytes");
        if (end - begin != elements * bits / 8) {
            refuse_.fail("S5", thing + " has " + std::to_string(end - begin) + " bytes, its shape and dtype need " +
                                   std::to_string(elements * bits / 8));
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
                refuse_.fail("S6", "tensor " + in_quotes(tensor.name) + " begins at byte " +
                                       std::to_string(tensor.offset) + ", the one before it ends at " +
                                       std::to_string(expected));
            }
            expected += tensor.bytes;
        }
        if (expected != bytes_.size()) {
            refuse_.fail("S6", "the last tensor ends at byte " + std::to_string(expected) + " but the file has " +
                                   std::to_string(bytes_.size()) + " bytes");
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
