#include "engine/model/files/gguf_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "engine/model/config/limits.h"
#include "engine/model/files/byte_cursor.h"
#include "engine/model/files/gguf_file.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

struct Damaged {}; // thrown to end parsing; summarize_gguf then returns nothing

// Values of general.file_type (github.com/ggml-org/ggml, docs/gguf.md, and the enum llama_ftype that it refers to).
std::string file_type_name(uint32_t number)
{
    static const std::map<uint32_t, std::string_view> names = {
        {0, "F32"},     {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},    {7, "Q8_0"},     {8, "Q5_0"},
        {9, "Q5_1"},    {10, "Q2_K"},   {11, "Q3_K_S"},  {12, "Q3_K_M"}, {13, "Q3_K_L"},  {14, "Q4_K_S"},
        {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},  {18, "Q6_K"},   {19, "IQ2_XXS"}, {20, "IQ2_XS"},
        {21, "Q2_K_S"}, {22, "IQ3_XS"}, {23, "IQ3_XXS"}, {24, "IQ1_S"},  {25, "IQ4_NL"},  {26, "IQ3_S"},
        {27, "IQ3_M"},  {28, "IQ2_S"},  {29, "IQ2_M"},   {30, "IQ4_XS"}, {31, "IQ1_M"},   {32, "BF16"},
        {36, "TQ1_0"},  {37, "TQ2_0"},  {38, "MXFP4"}};
    const auto found = names.find(number);
    return found == names.end() ? std::string() : std::string(found->second);
}

// Values of ggml_type in the tensor table, for files without general.file_type.
std::string tensor_type_name(uint32_t number)
{
    static const std::map<uint32_t, std::string_view> names = {
        {0, "F32"},     {1, "F16"},     {2, "Q4_0"},  {3, "Q4_1"},  {6, "Q5_0"},  {7, "Q5_1"},
        {8, "Q8_0"},    {10, "Q2_K"},   {11, "Q3_K"}, {12, "Q4_K"}, {13, "Q5_K"}, {14, "Q6_K"},
        {20, "IQ4_NL"}, {23, "IQ4_XS"}, {30, "BF16"}, {39, "MXFP4"}};
    const auto found = names.find(number);
    return found == names.end() ? "type " + std::to_string(number) : std::string(found->second);
}

class SummaryReader {
public:
    explicit SummaryReader(std::span<const std::byte> bytes)
        : cursor_(bytes.first(std::min<uint64_t>(bytes.size(), limits::gguf_header_bytes)))
    {
    }

    GgufSummary read()
    {
        if (text(take(4)) != "GGUF") throw Damaged{};
        if (const auto version = number<uint32_t>(); version != 2 && version != 3) throw Damaged{};
        const auto tensors = number<uint64_t>(), pairs = number<uint64_t>();
        if (tensors > limits::tensors || pairs > limits::key_value_pairs) throw Damaged{};
        for (uint64_t i = 0; i < pairs; ++i)
            read_pair();
        if (summary_.type.empty()) summary_.type = type_of_most_elements(tensors);
        return summary_;
    }

private:
    std::span<const std::byte> take(uint64_t n)
    {
        const auto taken = cursor_.take(n);
        if (!taken) throw Damaged{};
        return *taken;
    }

    template<typename T>
    T number()
    {
        const auto value = cursor_.read<T>();
        if (!value) throw Damaged{};
        return *value;
    }

    static std::string_view text(std::span<const std::byte> bytes)
    {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    std::string_view string() { return text(take(number<uint64_t>())); }

    GgufType type()
    {
        const auto id = number<uint32_t>();
        if (id > static_cast<uint32_t>(GgufType::F64)) throw Damaged{};
        return static_cast<GgufType>(id);
    }

    static uint64_t width(GgufType type)
    {
        constexpr std::array<uint64_t, 13> bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        return bytes[static_cast<size_t>(type)];
    }

    void read_pair()
    {
        const std::string_view key = string();
        const GgufType value = type();
        if (value == GgufType::Array) return skip_array();
        if (value == GgufType::String) return note(key, string());
        const auto bytes = take(width(value));
        if (value == GgufType::U32) note(key, *ByteCursor(bytes).read<uint32_t>());
        if (value == GgufType::U16) note(key, uint32_t{*ByteCursor(bytes).read<uint16_t>()});
    }

    void skip_array()
    {
        const GgufType element = type();
        const auto count = number<uint64_t>();
        if (element == GgufType::Array || count > limits::array_elements) throw Damaged{};
        if (element != GgufType::String) return void(take(count * width(element)));
        for (uint64_t i = 0; i < count; ++i)
            string();
    }

    void note(std::string_view key, std::string_view value)
    {
        if (key == "general.architecture") summary_.architecture = printable(value);
        if (key == "general.type") summary_.purpose = printable(value);
    }

    void note(std::string_view key, uint32_t value)
    {
        if (key == "general.file_type") summary_.type = file_type_name(value);
        if (key == "split.count") summary_.parts = value;
        if (key == "split.no") summary_.part = value;
    }

    std::string type_of_most_elements(uint64_t tensors)
    {
        std::map<uint32_t, double> elements;
        for (uint64_t i = 0; i < tensors; ++i) {
            string();
            const auto rank = number<uint32_t>();
            if (rank > limits::gguf_rank) throw Damaged{};
            double product = 1;
            for (uint32_t d = 0; d < rank; ++d)
                product *= static_cast<double>(number<uint64_t>());
            elements[number<uint32_t>()] += product;
            number<uint64_t>(); // skips the offset
        }
        if (elements.empty()) return {};
        const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
        return tensor_type_name(std::max_element(elements.begin(), elements.end(), less)->first);
    }

    ByteCursor cursor_;
    GgufSummary summary_;
};

} // namespace

bool GgufSummary::is_language_model() const
{
    if (architecture == "clip" || architecture == "imatrix") return false;
    return purpose.empty() || purpose == "model";
}

std::optional<GgufSummary> summarize_gguf(std::span<const std::byte> bytes)
try {
    return SummaryReader(bytes).read();
} catch (const Damaged&) {
    return std::nullopt;
}

} // namespace palimpsest::engine
