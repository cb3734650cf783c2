#include "storage/snapshot_codec.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

using engine::ListAtRest;
using engine::SessionState;

constexpr std::string_view magic{"PALSNAP\1", 8};
constexpr uint32_t exact_version = 3, coded_version = 4;
constexpr uint32_t most_blocks = 65536; // 64 GiB of 1 MiB blocks
constexpr uint32_t most_lists = 1024 * 1024;
constexpr uint64_t most_payload = uint64_t{most_blocks} * block_bytes;
constexpr uint32_t most_row_bytes = 1 << 16;
constexpr uint32_t most_moments = 1 << 12;

[[noreturn]] void refuse_damaged_codes(const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("saved session"),
                Text("its cache is damaged: {0}", what), Text("read its text again"));
}

template<class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values)
{
    static_assert(std::is_trivially_copyable_v<T>);
    return std::as_bytes(std::span(values));
}

// Writer and reader of the header share one description of its fields, so that they cannot diverge.
class HeaderWriter {
public:
    template<class T>
    void number(const T& value, const Text&)
    {
        const auto* first = reinterpret_cast<const std::byte*>(&value);
        out.insert(out.end(), first, first + sizeof value);
    }
    template<class Container>
    void list(const Container& values, const Text& what)
    {
        number(static_cast<uint32_t>(values.size()), what);
        const auto bytes = std::as_bytes(std::span(values));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    template<class E>
    void enumeration(E value, uint8_t, const Text& what)
    {
        number(static_cast<uint8_t>(value), what);
    }
    void policy(const engine::PolicySpec& spec) { list(spec.text(), Text()); }

    std::vector<std::byte> out;
};

class HeaderReader {
public:
    explicit HeaderReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template<class T>
    void number(T& value, const Text& what)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    }
    template<class Container>
    void list(Container& values, const Text& what)
    {
        using T = typename Container::value_type;
        uint32_t count = 0;
        number(count, what);
        const auto bytes = take(uint64_t{count} * sizeof(T), what);
        values.resize(count);
        if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    }
    template<class E>
    void enumeration(E& value, uint8_t most, const Text& what)
    {
        uint8_t raw = 0;
        number(raw, what);
        if (raw > most) refuse_damaged_codes(Text("{0} is unknown", what));
        value = static_cast<E>(raw);
    }
    void policy(engine::PolicySpec& spec)
    {
        std::string text;
        list(text, Text("the policy"));
        try {
            spec = engine::PolicySpec::parse(text);
        } catch (const Error&) {
            refuse_damaged_codes(Text("its policy cannot be read"));
        }
    }
    void expect_end() const
    {
        if (!bytes_.empty()) refuse_damaged_codes(Text("its header goes on after its end"));
    }

private:
    std::span<const std::byte> take(uint64_t count, const Text& what)
    {
        if (count > bytes_.size()) refuse_damaged_codes(Text("its header ends within {0}", what));
        const auto taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }

    std::span<const std::byte> bytes_;
};

// Sizes of the payload's parts; only the header contains them, not the session state.
struct Layout {
    SnapshotForm form = SnapshotForm::Exact;
    std::optional<kernels::CodedRows> coded{}; // by form, KV type and row_bytes
    std::vector<uint32_t> lengths;             // of the lists
    std::vector<uint32_t> uncoded;             // keys and values of list 0, of list 1 …; empty in format 3
    uint32_t logits = 0;
    uint32_t row_bytes = 0; // of one key, and of one value
    uint8_t with_sums = 0;
    uint32_t moments = 0; // doubles per token
    std::vector<BlockName> blocks;

    void set_coded_rows(kernels::DType type)
    {
        const auto [bytes, block] = std::pair(kernels::info(type).bytes, kernels::info(type).block);
        if (row_bytes % bytes == 0) coded = coded_rows(form, type, row_bytes / bytes * block);
    }
    uint64_t token_bytes() const
    {
        return sizeof(uint32_t) + (with_sums ? 2 * sizeof(double) : 0) + moments * sizeof(double);
    }
    // Bytes of `length` keys or values; `uncoded` of them are not coded.
    uint64_t rows_bytes(uint64_t length, uint64_t uncoded_rows) const
    {
        if (!coded) return length * row_bytes;
        return bitmap_bytes(length) + (length - uncoded_rows) * static_cast<uint64_t>(coded_row_bytes(*coded)) +
               uncoded_rows * row_bytes;
    }
    uint64_t stored_bytes(size_t list) const
    {
        const uint64_t length = lengths[list];
        return length * token_bytes() + rows_bytes(length, coded ? uncoded[2 * list] : 0) +
               rows_bytes(length, coded ? uncoded[2 * list + 1] : 0);
    }
    // Both stop adding above most_payload: the lengths in a damaged header could add up to more than 2^64 bytes.
    uint64_t payload_bytes() const
    {
        uint64_t total = uint64_t{logits} * sizeof(float);
        for (size_t i = 0; i < lengths.size() && total <= most_payload; ++i)
            total += stored_bytes(i);
        return total;
    }
    uint64_t memory_bytes() const // of the payload, decoded
    {
        uint64_t total = uint64_t{logits} * sizeof(float);
        for (size_t i = 0; i < lengths.size() && total <= most_payload; ++i)
            total += uint64_t{lengths[i]} * (token_bytes() + 2 * uint64_t{row_bytes});
        return total;
    }

    static uint64_t bitmap_bytes(uint64_t rows) { return (rows + 7) / 8; }
};

template<class Header, class State, class Parts>
void describe(Header& header, State& s, Parts& layout, uint32_t version)
{
    if (version >= coded_version)
        header.enumeration(layout.form, static_cast<uint8_t>(SnapshotForm::Q4), Text("the form"));
    header.list(s.model_fingerprint, Text("the model's fingerprint"));
    header.list(s.arithmetic, Text("the arithmetic"));
    header.policy(s.policy);
    if (version >= 2) {
        header.policy(s.given);
        header.list(s.pins, Text("the pins"));
    }
    if (version >= 3) {
        header.list(s.question_ids, Text("the tokens of a question"));
        header.number(s.question_room, Text("the room for a question"));
    }
    header.number(s.budget, Text("the budget"));
    header.number(s.chunk, Text("the chunk length"));
    header.enumeration(s.positions, static_cast<uint8_t>(engine::PositionMode::Original),
                       Text("the position mode"));
    header.enumeration(s.kv_type, static_cast<uint8_t>(kernels::DType::Q8_0), Text("the cache type"));
    header.number(s.tokens_seen, Text("the stream position"));
    header.number(s.steps_seen, Text("the stream position"));
    header.number(s.evicted, Text("the stream position"));
    header.number(s.last_token, Text("the last token"));
    header.list(s.pending, Text("the waiting tokens"));
    header.list(s.integrity_check.ids, Text("the integrity check"));
    header.list(s.integrity_check.logits, Text("the integrity check"));
    header.list(s.policy_state, Text("the policy's state"));
    header.number(s.sampler_options.temperature, Text("the sampler"));
    header.number(s.sampler_options.top_k, Text("the sampler"));
    header.number(s.sampler_options.top_p, Text("the sampler"));
    header.number(s.sampler_options.min_p, Text("the sampler"));
    header.number(s.sampler_options.repeat_penalty, Text("the sampler"));
    header.number(s.sampler_options.repeat_last, Text("the sampler"));
    header.number(s.sampler_options.seed, Text("the sampler"));
    header.list(s.sampler_state, Text("the sampler"));
    header.list(layout.lengths, Text("the list lengths"));
    if (version >= coded_version) header.list(layout.uncoded, Text("the list lengths"));
    header.number(layout.logits, Text("the number of logits"));
    header.number(layout.row_bytes, Text("the size of a key"));
    header.number(layout.with_sums, Text("the accumulators"));
    if (version >= 3) header.number(layout.moments, Text("the accumulators"));
    header.list(layout.blocks, Text("the blocks"));
}

// Sets everything but the numbers of rows that are not coded, and the blocks.
Layout layout_of(const SessionState& state, SnapshotForm form)
{
    Layout layout;
    layout.form = form;
    layout.logits = static_cast<uint32_t>(state.logits.size());
    for (const ListAtRest& list : state.lists) {
        const size_t length = list.tokens.stream.size();
        layout.lengths.push_back(static_cast<uint32_t>(length));
        if (length == 0) continue;
        layout.row_bytes = static_cast<uint32_t>(list.keys.size() / length);
        layout.with_sums = !list.tokens.sum.empty();
        layout.moments = static_cast<uint32_t>(list.tokens.moments.size() / length);
    }
    layout.set_coded_rows(state.kv_type);
    if (!layout.coded) layout.form = SnapshotForm::Exact;
    return layout;
}

// Cuts pushed bytes into blocks.
class BlockCutter {
public:
    BlockCutter(const std::function<void(const BlockName&, std::span<const std::byte>)>& sink,
                std::vector<BlockName>& names)
        : sink_(sink), names_(names)
    {
        block_.reserve(block_bytes);
    }

    void push(std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            const size_t count = std::min(bytes.size(), block_bytes - block_.size());
            block_.insert(block_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
            bytes = bytes.subspan(count);
            if (block_.size() == block_bytes) finish();
        }
    }
    void finish()
    {
        if (block_.empty()) return;
        names_.push_back({static_cast<uint32_t>(block_.size()), hash128(block_)});
        sink_(names_.back(), block_);
        block_.clear();
    }

private:
    const std::function<void(const BlockName&, std::span<const std::byte>)>& sink_;
    std::vector<BlockName>& names_;
    std::vector<std::byte> block_;
};

// Reassembles the blocks and reads values from them.
class BlockReader {
public:
    BlockReader(const std::vector<BlockName>& names,
                const std::function<void(size_t, std::span<std::byte>)>& source)
        : names_(names), source_(source)
    {
    }

    template<class T>
    void fill(std::vector<T>& values, size_t count)
    {
        values.resize(count);
        auto to = std::as_writable_bytes(std::span(values));
        while (!to.empty()) {
            if (at_ == block_.size()) load();
            const size_t part = std::min(to.size(), block_.size() - at_);
            std::memcpy(to.data(), block_.data() + at_, part);
            to = to.subspan(part);
            at_ += part;
        }
    }

private:
    void load()
    {
        if (next_ == names_.size()) refuse_damaged_codes(Text("blocks are missing"));
        const BlockName& name = names_[next_];
        block_.resize(name.bytes);
        source_(next_, block_);
        if (hash128(block_) != name.hash)
            refuse_damaged_codes(Text("block {0} does not match its checksum", next_));
        at_ = 0;
        ++next_;
    }

    const std::vector<BlockName>& names_;
    const std::function<void(size_t, std::span<std::byte>)>& source_;
    std::vector<std::byte> block_;
    size_t at_ = 0, next_ = 0;
};

// Writes keys or values, coded; returns how many are not coded.
uint32_t push_coded(BlockCutter& cutter, const kernels::CodedRows& coded, std::span<const std::byte> rows)
{
    const auto bytes = static_cast<size_t>(kernels::row_bytes(coded.type, coded.head_dim)),
               coded_bytes = static_cast<size_t>(coded_row_bytes(coded));
    const size_t count = rows.size() / bytes;
    std::vector<std::byte> codes(count * coded_bytes), bitmap(Layout::bitmap_bytes(count));
    std::vector<uint8_t> is_coded(count);
    code_rows(coded, rows, codes, is_coded);
    for (size_t i = 0; i < count; ++i)
        if (is_coded[i]) bitmap[i / 8] |= static_cast<std::byte>(1 << i % 8);
    cutter.push(bitmap);
    for (size_t i = 0; i < count; ++i)
        if (is_coded[i]) cutter.push(std::span(codes).subspan(i * coded_bytes, coded_bytes));
    for (size_t i = 0; i < count; ++i)
        if (!is_coded[i]) cutter.push(rows.subspan(i * bytes, bytes));
    return static_cast<uint32_t>(std::count(is_coded.begin(), is_coded.end(), 0));
}

void read_coded(BlockReader& reader, const kernels::CodedRows& coded, uint32_t count, uint32_t uncoded,
                std::vector<std::byte>& rows)
{
    const auto bytes = static_cast<size_t>(kernels::row_bytes(coded.type, coded.head_dim)),
               coded_bytes = static_cast<size_t>(coded_row_bytes(coded));
    std::vector<std::byte> bitmap, codes, others;
    reader.fill(bitmap, Layout::bitmap_bytes(count));
    const auto is_coded = [&](size_t i) { return (bitmap[i / 8] >> i % 8 & std::byte{1}) != std::byte{0}; };
    uint32_t found = 0;
    for (size_t i = 0; i < count; ++i)
        found += is_coded(i) ? 0 : 1;
    if (found != uncoded) refuse_damaged_codes(Text("its parts do not add up"));
    reader.fill(codes, (count - uncoded) * coded_bytes);
    reader.fill(others, uncoded * bytes);
    std::vector<std::byte> decoded((count - uncoded) * bytes);
    decode_rows(coded, codes, decoded);
    if (uncoded == 0) {
        rows = std::move(decoded);
        return;
    }
    rows.resize(count * bytes);
    auto next_decoded = decoded.cbegin(), next_other = others.cbegin();
    for (size_t i = 0; i < count; ++i) {
        auto& next = is_coded(i) ? next_decoded : next_other;
        std::copy_n(next, bytes, rows.begin() + static_cast<std::ptrdiff_t>(i * bytes));
        next += static_cast<std::ptrdiff_t>(bytes);
    }
}

void check_coding(Layout& layout, kernels::DType type)
{
    layout.set_coded_rows(type);
    if (!layout.coded || layout.uncoded.size() != 2 * layout.lengths.size())
        refuse_damaged_codes(Text("its parts do not add up"));
    for (size_t i = 0; i < layout.uncoded.size(); ++i)
        if (layout.uncoded[i] > layout.lengths[i / 2]) refuse_damaged_codes(Text("its parts do not add up"));
}

void parse(std::span<const std::byte> header, SessionState& state, Layout& layout)
{
    HeaderReader reader(header);
    std::array<char, magic.size()> found{};
    reader.number(found, Text("its magic"));
    if (std::string_view(found.data(), found.size()) != magic)
        refuse_damaged_codes(Text("it does not begin like a cache"));
    uint32_t version = 0;
    reader.number(version, Text("its version"));
    if (version == 0 || version > coded_version)
        throw Error(ErrorKind::Failed, ErrorCode::NewerSnapshot, Text("saved session"),
                    Text("its cache has format {0}, this version reads up to {1}", version, coded_version),
                    Text("update Palimpsest, or read its text again"));
    describe(reader, state, layout, version);
    if (version < 2) state.given = state.policy;
    reader.expect_end();
    if (layout.lengths.size() > most_lists || layout.blocks.size() > most_blocks)
        refuse_damaged_codes(Text("it has too many parts"));
    if (layout.row_bytes > most_row_bytes) refuse_damaged_codes(Text("its keys are too large"));
    if (layout.moments > most_moments) refuse_damaged_codes(Text("its accumulators are too large"));
    if (version == coded_version) check_coding(layout, state.kv_type);
    uint64_t total = 0;
    for (const BlockName& block : layout.blocks) {
        if (block.bytes == 0 || block.bytes > block_bytes)
            refuse_damaged_codes(Text("a block has an impossible size"));
        total += block.bytes;
    }
    if (total != layout.payload_bytes()) refuse_damaged_codes(Text("its parts do not add up"));
}

} // namespace

std::vector<std::byte> encode(const SessionState& state, SnapshotForm form,
                              const std::function<void(const BlockName&, std::span<const std::byte>)>& sink)
{
    Layout layout = layout_of(state, form);
    const auto push_rows = [&](BlockCutter& to, std::span<const std::byte> rows) {
        if (layout.coded)
            layout.uncoded.push_back(push_coded(to, *layout.coded, rows));
        else
            to.push(rows);
    };
    BlockCutter cutter(sink, layout.blocks);
    cutter.push(bytes_of(state.logits));
    for (const ListAtRest& list : state.lists) {
        cutter.push(bytes_of(list.tokens.stream));
        cutter.push(bytes_of(list.tokens.sum));
        cutter.push(bytes_of(list.tokens.count));
        cutter.push(bytes_of(list.tokens.moments));
        push_rows(cutter, list.keys);
        push_rows(cutter, list.values);
    }
    cutter.finish();
    const uint32_t version = layout.coded ? coded_version : exact_version;
    HeaderWriter writer;
    for (const char c : magic)
        writer.out.push_back(static_cast<std::byte>(c));
    writer.number(version, Text());
    describe(writer, state, layout, version);
    return std::move(writer.out);
}

std::vector<BlockName> blocks_of(std::span<const std::byte> header)
{
    SessionState state;
    Layout layout;
    parse(header, state, layout);
    return layout.blocks;
}

uint64_t position_of(std::span<const std::byte> header)
{
    SessionState state;
    Layout layout;
    parse(header, state, layout);
    return state.tokens_seen + state.pending.size();
}

SnapshotForm form_of(std::span<const std::byte> header)
{
    uint32_t version = 0;
    if (header.size() < form_bytes) return SnapshotForm::Exact;
    std::memcpy(&version, header.data() + magic.size(), sizeof version);
    const auto form = static_cast<uint8_t>(header[form_bytes - 1]);
    if (version != coded_version || form > static_cast<uint8_t>(SnapshotForm::Q4)) return SnapshotForm::Exact;
    return static_cast<SnapshotForm>(form);
}

SessionState decode(std::span<const std::byte> header,
                    const std::function<void(size_t, std::span<std::byte>)>& block, const PayloadLimit& limit)
{
    SessionState state;
    Layout layout;
    parse(header, state, layout);
    if (layout.memory_bytes() > limit(state)) refuse_damaged_codes(Text("it is larger than it can be"));
    BlockReader reader(layout.blocks, block);
    reader.fill(state.logits, layout.logits);
    const auto read_rows = [&](std::vector<std::byte>& rows, uint32_t length, size_t part) {
        if (layout.coded)
            read_coded(reader, *layout.coded, length, layout.uncoded[part], rows);
        else
            reader.fill(rows, size_t{length} * layout.row_bytes);
    };
    for (size_t i = 0; i < layout.lengths.size(); ++i) {
        const uint32_t length = layout.lengths[i];
        ListAtRest& list = state.lists.emplace_back();
        reader.fill(list.tokens.stream, length);
        if (layout.with_sums) {
            reader.fill(list.tokens.sum, length);
            reader.fill(list.tokens.count, length);
        }
        reader.fill(list.tokens.moments, size_t{length} * layout.moments);
        read_rows(list.keys, length, 2 * i);
        read_rows(list.values, length, 2 * i + 1);
    }
    return state;
}

} // namespace palimpsest::storage
