// Parsed GGUF file: metadata and tensor table, versions 2 and 3 (github.com/ggml-org/ggml, docs/gguf.md).
//
// Parsing checks docs/validation.md, G2 to G10; gguf_model.h interprets the values as a model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/files/refusal.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// The values are those of the file format.
enum class GgufType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

struct GgufTensor {
    std::string name;
    int rank = 0;
    std::array<uint64_t, 4> dims = {1, 1, 1, 1}; // innermost (contiguous) first
    kernels::DType type = kernels::DType::F32;
    uint64_t offset = 0; // from the start of the file
    uint64_t bytes = 0;

    uint64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; } // <= 2^48
};

class GgufFile {
public:
    // Linear in the header size; reads no tensor data. `bytes` is the whole file and must outlive the result.
    static GgufFile parse(std::span<const std::byte> bytes, const Refusal& refuse);

    uint32_t version() const { return version_; }
    uint64_t header_bytes() const { return header_bytes_; } // up to the end of the tensor table
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    bool has(const std::string& key) const { return values_.contains(key); }

    // Empty if the key is absent; a value of another type is refused (docs/validation.md, G11).
    std::optional<uint32_t> u32(const std::string& key) const;
    std::optional<float> f32(const std::string& key) const;
    std::optional<bool> boolean(const std::string& key) const;
    std::optional<std::string_view> string(const std::string& key) const; // points into the file
    std::optional<uint64_t> whole(const std::string& key) const;          // 0 or more, of any integer type
    bool is_array(const std::string& key) const;
    // A number that may be given once or per layer; per-layer values that differ are refused.
    std::optional<uint32_t> u32_for_all(const std::string& key) const;
    // Returns an array of integers or booleans, each as "is not zero". Refused unless it has `count` elements.
    std::vector<bool> flags(const std::string& key, uint64_t count) const;

    // Arrays must have exactly `count` elements; an absent key is refused.
    std::vector<float> f32_array(const std::string& key, uint64_t count) const;
    std::vector<int32_t> i32_array(const std::string& key, uint64_t count) const;
    // `largest` is the largest count that the caller accepts.
    std::vector<std::string> string_array(const std::string& key, uint64_t largest) const;

private:
    friend class GgufParser;
    struct Value {
        GgufType type;
        GgufType element; // of an array
        uint64_t count = 1;
        std::span<const std::byte> bytes; // the number, the characters, or the packed elements
    };

    GgufFile(std::span<const std::byte> bytes, const Refusal& refuse) : bytes_(bytes), refuse_(refuse) {}
    const Value* find(const std::string& key, GgufType type) const;
    const Value& array(const std::string& key, GgufType element) const;
    template<typename T>
    std::optional<T> number(const std::string& key, GgufType type) const;
    template<typename T>
    std::vector<T> numbers(const std::string& key, GgufType element, uint64_t count) const;

    std::span<const std::byte> bytes_;
    Refusal refuse_;
    uint32_t version_ = 0;
    uint64_t header_bytes_ = 0;
    std::unordered_map<std::string, Value> values_;
    std::vector<GgufTensor> tensors_;
};

} // namespace palimpsest::engine
