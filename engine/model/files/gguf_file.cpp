#include "engine/model/files/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "engine/model/config/limits.h"
#include "engine/model/files/byte_cursor.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/checked.h"

namespace palimpsest::engine {
namespace {

using kernels::DType;

constexpr std::array<std::string_view, 13> type_names = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                         "int32",  "float32", "bool",   "string", "array",
                                                         "uint64", "int64",   "float64"};
constexpr std::array<uint64_t, 13> type_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint64_t smallest_pair = 14;   // bytes: a key of one character, its type, a value of one byte
constexpr uint64_t smallest_tensor = 33; // bytes: a name of one character, one dimension

std::string_view name(GgufType type)
{
    return type_names[static_cast<size_t>(type)];
}

uint64_t element_bytes(GgufType type)
{
    return type_bytes[static_cast<size_t>(type)];
}

// Values of ggml_type.
std::optional<DType> tensor_type(uint32_t id)
{
    static const std::unordered_map<uint32_t, DType> types = {
        {0, DType::F32},     {1, DType::F16},     {2, DType::Q4_0},  {3, DType::Q4_1},
        {6, DType::Q5_0},    {7, DType::Q5_1},    {8, DType::Q8_0},  {10, DType::Q2_K},
        {11, DType::Q3_K},   {12, DType::Q4_K},   {13, DType::Q5_K}, {14, DType::Q6_K},
        {20, DType::IQ4_NL}, {23, DType::IQ4_XS}, {30, DType::BF16}, {39, DType::MXFP4}};
    const auto found = types.find(id);
    return found == types.end() ? std::nullopt : std::optional(found->second);
}

// Unsupported types that other programs write, so that a refusal can name the type that the user downloaded.
Text foreign_type(uint32_t id)
{
    static const std::unordered_map<uint32_t, std::string_view> names = {
        {9, "q8_1"},   {15, "q8_k"},       {16, "iq2_xxs"},    {17, "iq2_xs"},     {18, "iq3_xxs"},  {19, "iq1_s"},
        {21, "iq3_s"}, {22, "iq2_s"},      {24, "i8"},         {25, "i16"},        {26, "i32"},      {27, "i64"},
        {28, "f64"},   {29, "iq1_m"},      {31, "q4_0_4_4"},   {32, "q4_0_4_8"},   {33, "q4_0_8_8"}, {34, "tq1_0"},
        {35, "tq2_0"}, {36, "iq4_nl_4_4"}, {37, "iq4_nl_4_8"}, {38, "iq4_nl_8_8"}, {40, "nvfp4"},    {41, "q1_0"}};
    const auto found = names.find(id);
    return found == names.end() ? Text("number {0}", id) : Text::verbatim(std::string(found->second));
}

std::string_view text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

// Parses the header in one pass, in file order.
class GgufParser {
public:
    GgufParser(std::span<const std::byte> bytes, const Refusal& refuse)
        : refuse_(refuse), cursor_(bytes.first(std::min<uint64_t>(bytes.size(), limits::gguf_header_bytes))),
          file_bytes_(bytes.size()), file_(bytes, refuse)
    {
    }

    GgufFile parse()
    {
        read_start();
        for (uint64_t i = 0; i < pairs_; ++i)
            read_pair();
        const uint64_t alignment = read_alignment();
        for (uint64_t i = 0; i < tensors_; ++i)
            read_tensor();
        file_.header_bytes_ = cursor_.position();
        place_tensors(alignment);
        return std::move(file_);
    }

private:
    [[noreturn]] void fail(ErrorCode rule, Text what, Text remedy = Refusal::download_again())
    {
        refuse_.fail(rule, std::move(what), std::move(remedy), cursor_.position());
    }

    // Called if the cursor has fewer than `needed` bytes: the file ends too early, or the header exceeds
    // gguf_header_bytes.
    [[noreturn]] void fail_short(ErrorCode rule, const Text& thing, uint64_t needed)
    {
        if (file_bytes_ > limits::gguf_header_bytes && needed <= file_bytes_)
            fail(ErrorCode::ModelG3, Text("the header is longer than {0} bytes", limits::gguf_header_bytes),
                 Refusal::other_model());
        fail(rule,
             Text("{0} needs {1} bytes at byte {2} but the file has {3} bytes: the file is truncated", thing,
                  needed, cursor_.position(), file_bytes_),
             Text("download it again"));
    }

    std::span<const std::byte> take(uint64_t n, ErrorCode rule, const Text& thing)
    {
        const auto taken = cursor_.take(n);
        if (!taken) fail_short(rule, thing, n);
        return *taken;
    }

    template<typename T>
    T read(ErrorCode rule, const Text& thing)
    {
        const auto value = cursor_.read<T>();
        if (!value) fail_short(rule, thing, sizeof(T));
        return *value;
    }

    std::span<const std::byte> read_string(uint64_t limit, const Text& thing)
    {
        const auto length = read<uint64_t>(ErrorCode::ModelG4, thing);
        if (length > limit) {
            fail(ErrorCode::ModelG4, Text("{0} has {1} bytes, the limit is {2}", thing, length, limit),
                 Refusal::other_model());
        }
        return take(length, ErrorCode::ModelG4, thing);
    }

    std::string read_name(uint64_t limit, const Text& thing)
    {
        std::string name(text(read_string(limit, thing)));
        if (name.empty()) fail(ErrorCode::ModelG4, Text("{0} is empty", thing));
        if (name.find('\0') != std::string::npos || !is_valid_utf8(name))
            fail(ErrorCode::ModelG4, Text("{0} {1} is not valid UTF-8 text", thing, in_quotes(name)));
        return name;
    }

    void read_start()
    {
        if (file_bytes_ < 24)
            fail(ErrorCode::ModelG1, Text("the file has {0} bytes, a GGUF file at least 24", file_bytes_));
        if (text(take(4, ErrorCode::ModelG1, Text("the magic number"))) != "GGUF")
            fail(ErrorCode::ModelG1, Text("the file does not begin with GGUF"));
        file_.version_ = read<uint32_t>(ErrorCode::ModelG2, Text("the version"));
        const uint32_t v = file_.version_;
        const uint32_t swapped = __builtin_bswap32(v);
        if (swapped == 2 || swapped == 3)
            fail(ErrorCode::ModelG2, Text("it is a big-endian file, made for other machines"),
                 Text("get the little-endian file"));
        if (v != 2 && v != 3)
            fail(ErrorCode::ModelG2, Text("unknown GGUF version {0}", v),
                 Text("convert it to GGUF version 2 or 3"));
        tensors_ = read<uint64_t>(ErrorCode::ModelG3, Text("the number of tensors"));
        pairs_ = read<uint64_t>(ErrorCode::ModelG3, Text("the number of metadata entries"));
        check_count(pairs_, limits::key_value_pairs, smallest_pair, Text("it claims {0} metadata entries", pairs_));
        check_count(tensors_, limits::tensors, smallest_tensor, Text("it claims {0} tensors", tensors_));
    }

    void check_count(uint64_t n, uint64_t limit, uint64_t smallest, const Text& claim)
    {
        if (n > limit)
            fail(ErrorCode::ModelG3, Text("{0}, the limit is {1}", claim, limit), Refusal::other_model());
        if (n * smallest > cursor_.remaining())
            fail(ErrorCode::ModelG3, Text("{0} but only {1} bytes follow", claim, cursor_.remaining()));
    }

    GgufType read_type(const Text& thing)
    {
        const auto id = read<uint32_t>(ErrorCode::ModelG5, thing);
        if (id >= type_names.size())
            fail(ErrorCode::ModelG5, Text("{0} has the unknown value type {1}", thing, id));
        return static_cast<GgufType>(id);
    }

    void read_pair()
    {
        const std::string key = read_name(limits::key_bytes, Text("a metadata key"));
        const Text thing("the value of {0}", in_quotes(key));
        GgufFile::Value value{read_type(thing), GgufType::U8, 1, {}};
        if (value.type == GgufType::Array) {
            read_array(value, thing);
        } else if (value.type == GgufType::String) {
            value.bytes = read_string(limits::string_bytes, thing);
        } else {
            value.bytes = take(element_bytes(value.type), ErrorCode::ModelG5, thing);
            if (value.type == GgufType::Bool) check_booleans(value.bytes, thing);
        }
        if (!file_.values_.emplace(key, value).second)
            fail(ErrorCode::ModelG6, Text("the key {0} comes twice", in_quotes(key)));
    }

    void read_array(GgufFile::Value& value, const Text& thing)
    {
        value.element = read_type(thing);
        if (value.element == GgufType::Array)
            fail(ErrorCode::ModelG5, Text("{0} is an array of arrays", thing), Refusal::other_model());
        value.count = read<uint64_t>(ErrorCode::ModelG5, thing);
        if (value.count > limits::array_elements) {
            fail(ErrorCode::ModelG5,
                 Text("{0} has {1} elements, the limit is {2}", thing, value.count, limits::array_elements),
                 Refusal::other_model());
        }
        if (value.element == GgufType::String) return read_strings(value, thing);
        value.bytes = take(value.count * element_bytes(value.element), ErrorCode::ModelG5, thing);
        if (value.element == GgufType::Bool) check_booleans(value.bytes, thing);
    }

    void read_strings(GgufFile::Value& value, const Text& thing)
    {
        if (value.count * sizeof(uint64_t) > cursor_.remaining())
            fail_short(ErrorCode::ModelG5, thing, value.count * sizeof(uint64_t));
        const uint64_t begin = cursor_.position();
        for (uint64_t i = 0; i < value.count; ++i)
            read_string(limits::string_bytes, thing);
        value.bytes = file_.bytes_.subspan(begin, cursor_.position() - begin);
    }

    void check_booleans(std::span<const std::byte> bytes, const Text& thing)
    {
        for (const std::byte b : bytes)
            if (b > std::byte{1})
                fail(ErrorCode::ModelG5,
                     Text("{0} is {1} but a truth value is 0 or 1", thing, static_cast<int>(b)));
    }

    uint64_t read_alignment()
    {
        constexpr uint64_t smallest = 8, largest = 65536;
        const auto found = file_.values_.find("general.alignment");
        if (found == file_.values_.end()) return 32;
        if (found->second.type != GgufType::U32)
            fail(ErrorCode::ModelG7, Text("{0} has type {1}, expected {2}", "'general.alignment'",
                                          name(found->second.type), name(GgufType::U32)));
        const uint64_t alignment = *file_.u32("general.alignment");
        if (!std::has_single_bit(alignment) || alignment < smallest || alignment > largest) {
            fail(ErrorCode::ModelG7,
                 Text("'general.alignment' is {0}, expected a power of two from 8 to 65536", alignment));
        }
        return alignment;
    }

    void read_tensor()
    {
        GgufTensor tensor;
        tensor.name = read_name(limits::tensor_name_bytes, Text("a tensor name"));
        const Text thing("tensor {0}", in_quotes(tensor.name));
        if (!names_.insert(tensor.name).second) fail(ErrorCode::ModelG6, Text("{0} comes twice", thing));
        read_shape(tensor, thing);
        const auto id = read<uint32_t>(ErrorCode::ModelG9, thing);
        const auto type = tensor_type(id);
        if (!type) {
            fail(ErrorCode::ModelG9, Text("tensor type {0} is not supported ({1})", foreign_type(id), thing),
                 Text("use a file of another quantisation, such as Q4_K_M or Q8_0"));
        }
        tensor.type = *type;
        const auto& info = kernels::info(tensor.type);
        const auto block = static_cast<uint64_t>(info.block);
        if (tensor.dims[0] % block != 0) {
            fail(ErrorCode::ModelG9, Text("{0} has rows of {1} elements, not a multiple of the {2} of a {3} block",
                                          thing, tensor.dims[0], block, info.name));
        }
        const auto bytes = checked_mul(tensor.elements() / block, static_cast<uint64_t>(info.bytes));
        if (!bytes || *bytes > limits::file_bytes)
            fail(ErrorCode::ModelG9, Text("{0} is larger than any file", thing));
        tensor.bytes = *bytes;
        tensor.offset = read<uint64_t>(ErrorCode::ModelG10, thing);
        file_.tensors_.push_back(std::move(tensor));
    }

    void read_shape(GgufTensor& tensor, const Text& thing)
    {
        const auto rank = read<uint32_t>(ErrorCode::ModelG8, thing);
        if (rank < 1 || rank > limits::gguf_rank)
            fail(ErrorCode::ModelG8, Text("{0} has {1} dimensions, expected 1 to 4", thing, rank));
        tensor.rank = static_cast<int>(rank);
        uint64_t product = 1;
        for (uint32_t i = 0; i < rank; ++i) {
            const auto dim = read<uint64_t>(ErrorCode::ModelG8, thing);
            if (dim < 1 || dim > limits::gguf_dimension)
                fail(ErrorCode::ModelG8, Text("{0} has a dimension of {1}, expected 1 to 2^40", thing, dim));
            const auto next = checked_mul(product, dim);
            if (!next || *next > limits::elements)
                fail(ErrorCode::ModelG8, Text("{0} has more than 2^48 elements", thing));
            product = *next;
            tensor.dims[i] = dim;
        }
    }

    void place_tensors(uint64_t alignment)
    {
        const uint64_t data_start = *align_up(cursor_.position(), alignment);
        for (GgufTensor& tensor : file_.tensors_)
            place(tensor, data_start, alignment);
        std::vector<const GgufTensor*> sorted;
        for (const GgufTensor& tensor : file_.tensors_)
            sorted.push_back(&tensor);
        std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
        for (size_t i = 1; i < sorted.size(); ++i) {
            const GgufTensor &a = *sorted[i - 1], &b = *sorted[i];
            if (a.offset + a.bytes > b.offset)
                fail(ErrorCode::ModelG10, Text("tensors {0} and {1} overlap at byte {2}", in_quotes(a.name),
                                               in_quotes(b.name), b.offset));
        }
    }

    void place(GgufTensor& tensor, uint64_t data_start, uint64_t alignment)
    {
        const Text thing("tensor {0}", in_quotes(tensor.name));
        if (tensor.offset % alignment != 0) {
            fail(ErrorCode::ModelG10, Text("{0} begins at offset {1}, not a multiple of the alignment {2}", thing,
                                           tensor.offset, alignment));
        }
        const auto begin = checked_add(data_start, tensor.offset);
        const auto end = begin ? checked_add(*begin, tensor.bytes) : std::nullopt;
        if (!end)
            fail(ErrorCode::ModelG10, Text("{0} begins at offset {1}, beyond any file", thing, tensor.offset));
        if (*end > file_bytes_) {
            fail(ErrorCode::ModelG10,
                 Text("{0} ends at byte {1} but the file has {2} bytes: the file is truncated", thing, *end,
                      file_bytes_),
                 Text("download it again"));
        }
        tensor.offset = *begin;
    }

    const Refusal& refuse_;
    ByteCursor cursor_;
    uint64_t file_bytes_;
    GgufFile file_;
    uint64_t tensors_ = 0, pairs_ = 0; // as the header claims
    std::unordered_set<std::string> names_;
};

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const Refusal& refuse)
{
    return GgufParser(bytes, refuse).parse();
}

const GgufFile::Value* GgufFile::find(const std::string& key, GgufType type) const
{
    const auto found = values_.find(key);
    if (found == values_.end()) return nullptr;
    if (found->second.type != type) {
        refuse_.fail(ErrorCode::ModelG11,
                     Text("{0} has type {1}, expected {2}", in_quotes(key), name(found->second.type), name(type)));
    }
    return &found->second;
}

template<typename T>
std::optional<T> GgufFile::number(const std::string& key, GgufType type) const
{
    const Value* value = find(key, type);
    if (!value) return std::nullopt;
    return ByteCursor(value->bytes).read<T>();
}

std::optional<bool> GgufFile::boolean(const std::string& key) const
{
    const auto byte = number<uint8_t>(key, GgufType::Bool);
    if (!byte) return std::nullopt;
    return *byte != 0;
}

std::optional<std::string_view> GgufFile::string(const std::string& key) const
{
    const Value* value = find(key, GgufType::String);
    if (!value) return std::nullopt;
    return text(value->bytes);
}

const GgufFile::Value& GgufFile::array(const std::string& key, GgufType element) const
{
    const Value* value = find(key, GgufType::Array);
    if (!value) refuse_.fail(ErrorCode::ModelG11, Text("{0} is missing", in_quotes(key)));
    if (value->element != element) {
        refuse_.fail(ErrorCode::ModelG11, Text("{0} has elements of type {1}, expected {2}", in_quotes(key),
                                               name(value->element), name(element)));
    }
    return *value;
}

template<typename T>
std::vector<T> GgufFile::numbers(const std::string& key, GgufType element, uint64_t expected) const
{
    const Value& value = array(key, element);
    if (value.count != expected) {
        refuse_.fail(ErrorCode::ModelG11,
                     Text("{0} has {1} elements, expected {2}", in_quotes(key), value.count, expected));
    }
    std::vector<T> out(expected); // bounded by the bytes in the file
    if (expected != 0) std::memcpy(out.data(), value.bytes.data(), value.bytes.size());
    return out;
}

std::vector<float> GgufFile::f32_array(const std::string& key, uint64_t expected) const
{
    return numbers<float>(key, GgufType::F32, expected);
}

std::vector<int32_t> GgufFile::i32_array(const std::string& key, uint64_t expected) const
{
    return numbers<int32_t>(key, GgufType::I32, expected);
}

std::vector<std::string> GgufFile::string_array(const std::string& key, uint64_t largest) const
{
    const Value& value = array(key, GgufType::String);
    if (value.count > largest) {
        refuse_.fail(ErrorCode::ModelG11,
                     Text("{0} has {1} elements, the limit is {2}", in_quotes(key), value.count, largest),
                     Refusal::other_model());
    }
    ByteCursor cursor(value.bytes);
    std::vector<std::string> out;
    out.reserve(value.count);
    for (uint64_t i = 0; i < value.count; ++i) {
        const auto length = cursor.read<uint64_t>(); // parse() has checked that the length and its bytes are there
        out.emplace_back(text(*cursor.take(*length)));
    }
    return out;
}

std::optional<uint64_t> GgufFile::whole(const std::string& key) const
{
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    const Value& value = found->second;
    const bool is_signed = value.type == GgufType::I8 || value.type == GgufType::I16 ||
                           value.type == GgufType::I32 || value.type == GgufType::I64;
    const bool is_unsigned = value.type == GgufType::U8 || value.type == GgufType::U16 ||
                             value.type == GgufType::U32 || value.type == GgufType::U64;
    const bool negative = is_signed && (value.bytes.back() & std::byte{0x80}) != std::byte{};
    if ((!is_signed && !is_unsigned) || negative)
        refuse_.fail(ErrorCode::ModelG11, Text("{0} is not an integer of 0 or more", in_quotes(key)));
    uint64_t number = 0;
    std::memcpy(&number, value.bytes.data(), value.bytes.size());
    return number;
}

bool GgufFile::is_array(const std::string& key) const
{
    const auto found = values_.find(key);
    return found != values_.end() && found->second.type == GgufType::Array;
}

std::optional<uint32_t> GgufFile::u32_for_all(const std::string& key) const
{
    if (!is_array(key)) return u32(key);
    const Value& value = values_.at(key);
    if (value.element != GgufType::U32 && value.element != GgufType::I32)
        refuse_.fail(ErrorCode::ModelG11, Text("{0} has elements of type {1}, expected uint32 or int32",
                                               in_quotes(key), name(value.element)));
    if (value.count == 0) refuse_.fail(ErrorCode::ModelG11, Text("{0} is empty", in_quotes(key)));
    ByteCursor cursor(value.bytes);
    const uint32_t first = *cursor.read<uint32_t>(); // parse() has checked that all elements are there
    for (uint64_t i = 1; i < value.count; ++i)
        if (*cursor.read<uint32_t>() != first)
            refuse_.fail(ErrorCode::ModelG12,
                         Text("{0} differs between layers, which is not supported", in_quotes(key)),
                         Refusal::other_model());
    return first;
}

std::vector<bool> GgufFile::flags(const std::string& key, uint64_t count_expected) const
{
    const Value* value = find(key, GgufType::Array);
    if (!value) refuse_.fail(ErrorCode::ModelG11, Text("{0} is missing", in_quotes(key)));
    const uint64_t each = element_bytes(value->element);
    const bool whole = each > 0 && value->element != GgufType::F32 && value->element != GgufType::F64;
    if (!whole || value->count != count_expected)
        refuse_.fail(ErrorCode::ModelG11,
                     Text("{0} is not one truth value for each of {1} layers", in_quotes(key), count_expected));
    std::vector<bool> out;
    for (uint64_t i = 0; i < value->count; ++i) {
        const auto element = value->bytes.subspan(i * each, each);
        out.push_back(std::any_of(element.begin(), element.end(), [](std::byte b) { return b != std::byte{}; }));
    }
    return out;
}

std::optional<uint32_t> GgufFile::u32(const std::string& key) const
{
    return number<uint32_t>(key, GgufType::U32);
}

std::optional<float> GgufFile::f32(const std::string& key) const
{
    return number<float>(key, GgufType::F32);
}

} // namespace palimpsest::engine
