#include "storage/document_salvage.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "storage/clock.h"
#include "storage/hash.h"
#include "storage/library.h"
#include "storage/packing.h"
#include "storage/salvage_queries.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t most_block_bytes = 1 << 20;
constexpr int64_t most_made_blocks = 1 << 10;     // an index beyond such a gap is altered itself
constexpr int64_t most_blocks = int64_t{1} << 33; // of a document (is_size): a larger number is a checksum

// Returns nullopt if it is damaged. REQUIRES: columns raw, hash, data.
std::optional<std::vector<std::byte>> content_of(SQLite::Statement& block)
{
    const int64_t bytes = block.getColumn(0).getInt64();
    if (bytes < 0 || bytes > most_block_bytes) return std::nullopt;
    std::vector<std::byte> raw(static_cast<size_t>(bytes));
    const SQLite::Column data = block.getColumn(2);
    if (!unpack(blob(data), raw) || hash64(raw) != block.getColumn(1).getInt64()) return std::nullopt;
    return raw;
}

// As make_damaged_block leaves it: an earlier rescue has told that it is lost. Returns how many blocks behind it it
// has told, too. REQUIRES: columns raw, hash, data.
std::optional<int64_t> told_behind(SQLite::Statement& block)
{
    const int64_t behind = block.getColumn(1).getInt64();
    const bool is_made = block.getColumn(0).getInt64() == 1 && block.getColumn(2).getBytes() == 0 && behind >= 0 &&
                         behind < most_blocks;
    return is_made ? std::optional(behind) : std::nullopt;
}

// How many tokens a block of lengths describes, and how many bytes of text they cover together.
struct Extent {
    int64_t tokens = 0, bytes = 0;
};
Extent extent_of(std::span<const std::byte> lengths)
{
    Extent sum;
    uint64_t length = 0;
    int shift = 0;
    for (const std::byte byte : lengths) {
        const auto value = static_cast<uint64_t>(byte);
        if (shift < 63) length |= (value & 0x7F) << shift;
        shift += 7;
        if (value & 0x80) continue;
        ++sum.tokens;
        sum.bytes += static_cast<int64_t>(std::min<uint64_t>(length, most_block_bytes));
        length = 0;
        shift = 0;
    }
    return sum;
}

int64_t blocks_in(int64_t bytes, int64_t full) // full: bytes of each but the last one
{
    return bytes / full + (bytes % full > 0 ? 1 : 0);
}

bool is_size(int64_t number) // of a document
{
    return number >= 0 && number < int64_t{1} << 48;
}

} // namespace

void DocumentSalvage::make_lost()
{
    const char* used = "SELECT document FROM stream WHERE document NOT NULL UNION SELECT document FROM library";
    for (const int64_t id : numbers_of(db_, used)) {
        const std::string title = missing_name("document", id);
        auto insert = db_.statement(
            "INSERT OR IGNORE INTO documents(id, title, source, tokenizer, bytes, words, tokens, "
            "invalid_sequences, "
            "nul_characters, created_ms, complete) VALUES(?1, ?2, '-', coalesce((SELECT model FROM stream JOIN "
            "sessions "
            "ON sessions.id = session WHERE document = ?1), ''), "
            "(SELECT coalesce(sum(raw), 0) FROM document_blocks WHERE document = ?1 AND kind = 0), 0, "
            "(SELECT coalesce(sum(raw), 0) / 4 FROM document_blocks WHERE document = ?1 AND kind = 1), 0, 0, 0, "
            "1)");
        insert.bind(1, id);
        insert.bind(2, title);
        if (insert.exec() > 0) losses_[id] = LostPart::DocumentEntry;
        run_for(db_, "UPDATE documents SET complete = 1 WHERE id = ?", id);
    }
}

// An entry without text that nothing uses was altered itself: its text belongs to another one.
void DocumentSalvage::remove_empty()
{
    const char* empty =
        "SELECT id FROM documents WHERE id NOT IN (SELECT document FROM document_blocks) AND id NOT "
        "IN (SELECT document FROM stream WHERE document NOT NULL) AND id NOT IN (SELECT document "
        "FROM library)";
    for (const int64_t id : numbers_of(db_, empty))
        if (count_of(known_blocks_, id) == 0) run_for(db_, "DELETE FROM documents WHERE id = ?", id);
}

// The blocks of one kind that were found of a document: the intact ones, and which are missing or damaged.
struct DocumentSalvage::Blocks {
    struct Block {
        int64_t index, row, raw; // row: its rowid
        Extent extent{};         // of a block of lengths
    };
    struct Missing {
        int64_t index, behind = 0; // behind: how many more are missing behind it, up to the end
    };
    std::vector<Block> intact; // by index
    std::vector<Missing> missing;
    std::vector<int64_t> damaged_rows;  // rowids
    std::vector<int64_t> stray_rows;    // likewise, of blocks behind the end: another document's
    int64_t end = 0, raw = 0, made = 0; // made: how many an earlier rescue made
    int64_t told_behind = 0;            // behind the end: an earlier rescue has told that they are lost

    bool are_whole() const { return !have_losses() && made == 0; }
    bool have_losses() const { return !missing.empty() || !damaged_rows.empty(); } // of which no rescue has told
    int64_t count() const { return static_cast<int64_t>(intact.size() + damaged_rows.size()) + made; }
    // All have the size of a full block, except the last one.
    bool are_full(int64_t full) const
    {
        return std::all_of(intact.begin(), intact.end(), [&](const Block& block) {
            return block.index + 1 == end ? block.raw > 0 && block.raw <= full : block.raw == full;
        });
    }
    // Gives up blocks that have another size than in a whole of so many bytes.
    void compare_sizes(int64_t bytes, int64_t full)
    {
        compare_count(blocks_in(bytes, full));
        for (const Block& block : intact)
            if (block.index < end && block.raw != std::min(full, bytes - block.index * full))
                damaged_rows.push_back(block.row);
    }
    void compare_count(int64_t blocks)
    {
        for (const Block& block : intact)
            if (block.index >= blocks) stray_rows.push_back(block.row);
        std::erase_if(missing, [&](const Missing& gap) { return gap.index >= blocks; });
        end = std::min(end, blocks);
        if (end + told_behind < blocks) missing.push_back({.index = end, .behind = blocks - end - 1});
    }
    Extent extent() const // what the lengths up to the end are about
    {
        Extent sum;
        for (const Block& block : intact)
            if (block.index < end) {
                sum.tokens += block.extent.tokens;
                sum.bytes += block.extent.bytes;
            }
        return sum;
    }
    void give_up()
    {
        for (const Block& block : intact)
            damaged_rows.push_back(block.row);
        if (end == 0) missing.push_back({.index = 0});
    }
};

DocumentSalvage::Blocks DocumentSalvage::blocks_of(int64_t document, DocumentBlock kind)
{
    Blocks blocks;
    run_for(db_, "DELETE FROM document_blocks WHERE document = ? AND NOT idx BETWEEN 0 AND " + most_salvaged_index,
            document);
    auto query =
        db_.statement("SELECT raw, hash, data, idx, rowid FROM document_blocks WHERE document = ? AND kind = ? "
                      "ORDER BY idx");
    query.bind(1, document);
    query.bind(2, static_cast<int>(kind));
    while (query.executeStep()) {
        check_stop_();
        const int64_t index = query.getColumn(3).getInt64(), row = query.getColumn(4).getInt64();
        for (int64_t gap = blocks.end; gap < std::min(index, blocks.end + most_made_blocks); ++gap)
            blocks.missing.push_back({.index = gap});
        blocks.end = index + 1;
        const auto told = told_behind(query);
        blocks.told_behind = told.value_or(0);
        if (told) {
            ++blocks.made;
            continue;
        }
        const auto content = content_of(query);
        if (!content) {
            blocks.damaged_rows.push_back(row);
            continue;
        }
        blocks.intact.push_back({.index = index, .row = row, .raw = static_cast<int64_t>(content->size())});
        blocks.raw += blocks.intact.back().raw;
        if (kind == DocumentBlock::Lengths) blocks.intact.back().extent = extent_of(*content);
    }
    return blocks;
}

// Writes a block that says it has one byte but holds none, so that every reader finds it damaged. Its column `hash`
// holds, instead of a checksum, the number of blocks that are lost behind it, up to the end.
void DocumentSalvage::make_damaged_block(int64_t document, DocumentBlock kind, int64_t index, int64_t behind)
{
    auto insert = db_.statement("INSERT OR REPLACE INTO document_blocks(document, kind, idx, raw, hash, data) "
                                "VALUES(?, ?, ?, 1, ?, x'')");
    insert.bind(1, document);
    insert.bind(2, static_cast<int>(kind));
    insert.bind(3, index);
    insert.bind(4, behind);
    insert.exec();
}

// Blocks that fit each other correct the document's entry. Otherwise the entry says how large they are, so that a
// block of another document is not taken for one of this.
void DocumentSalvage::check(int64_t document)
{
    constexpr int64_t full_text = text_block_bytes, full_ids = tokens_per_block * sizeof(engine::TokenId);
    Blocks text = blocks_of(document, DocumentBlock::CleanText), ids = blocks_of(document, DocumentBlock::TokenIds),
           lengths = blocks_of(document, DocumentBlock::Lengths),
           starts = blocks_of(document, DocumentBlock::Starts),
           notes = blocks_of(document, DocumentBlock::ReaderNotes);
    const int64_t bytes = number_of(db_, "SELECT bytes FROM documents WHERE id = ?", document),
                  tokens = number_of(db_, "SELECT tokens FROM documents WHERE id = ?", document),
                  there = text.count() + ids.count() + lengths.count() + starts.count() + notes.count();
    const bool has_entry = !losses_.contains(document);
    const bool fit = count_of(known_blocks_, document) <= there && text.end > 0 && text.are_whole() &&
                     ids.are_whole() && lengths.are_whole() && text.are_full(full_text) && ids.are_full(full_ids) &&
                     ids.end == lengths.end && lengths.extent().tokens == ids.raw / 4 &&
                     lengths.extent().bytes == text.raw;
    if (fit) {
        auto correct = db_.statement("UPDATE documents SET bytes = ?, tokens = ? WHERE id = ?");
        correct.bind(1, text.raw);
        correct.bind(2, ids.raw / 4);
        correct.bind(3, document);
        correct.exec();
    } else if (has_entry && is_size(bytes) && is_size(tokens)) {
        text.compare_sizes(bytes, full_text);
        ids.compare_sizes(tokens * 4, full_ids);
        lengths.compare_count(blocks_in(tokens * 4, full_ids));
        if (ids.are_whole() && lengths.are_whole() && lengths.extent().tokens != tokens) lengths.give_up();
    } else {
        text.give_up();
        ids.give_up();
        lengths.give_up();
    }
    if (text.have_losses())
        losses_[document] = LostPart::DocumentText;
    else if (ids.have_losses() || lengths.have_losses() || !lengths.stray_rows.empty())
        losses_[document] = LostPart::DocumentTokens;
    give_up(document, text, DocumentBlock::CleanText);
    give_up(document, ids, DocumentBlock::TokenIds);
    give_up(document, lengths, DocumentBlock::Lengths);
    for (const Blocks* blocks : {&starts, &notes}) // the lengths say the same; notes are no part of the text
        for (const int64_t row : blocks->damaged_rows)
            run_for(db_, "DELETE FROM document_blocks WHERE rowid = ?", row);
}

// Blocks that are missing are made, damaged.
void DocumentSalvage::give_up(int64_t document, const Blocks& blocks, DocumentBlock kind)
{
    for (const Blocks::Missing& gap : blocks.missing)
        make_damaged_block(document, kind, gap.index, gap.behind);
    for (const int64_t row : blocks.damaged_rows)
        run_for(db_, "UPDATE document_blocks SET raw = 1, hash = 0, data = x'' WHERE rowid = ?", row);
    for (const int64_t row : blocks.stray_rows)
        run_for(db_, "DELETE FROM document_blocks WHERE rowid = ?", row);
}

// A document that no session is known to use any more would be deleted at the next start.
void DocumentSalvage::keep_unused()
{
    run_for(
        db_,
        std::string("INSERT INTO library(document, added_ms) SELECT id, ? FROM documents WHERE complete = 1 AND ") +
            is_unused_document,
        now_ms());
}

} // namespace palimpsest::storage
