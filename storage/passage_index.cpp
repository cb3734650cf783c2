#include "storage/passage_index.h"

#include <algorithm>

#include "engine/text/passage_cutter.h"
#include "kernels/base/error.h"
#include "storage/library.h"

namespace palimpsest::storage {
namespace {

constexpr size_t passages_per_transaction = 512;

StoredPassage stored_passage(SQLite::Statement& row)
{
    const auto number = [&](int column) { return static_cast<uint64_t>(row.getColumn(column).getInt64()); };
    return {.document = row.getColumn(0).getInt64(),
            .index = row.getColumn(1).getInt64(),
            .first_token = number(2),
            .end_token = number(3),
            .first_byte = number(4),
            .end_byte = number(5),
            .section = row.getColumn(6).getInt64()};
}

// Reads the stored text and tokens of a document and passes them to a cutter.
class DocumentCutter {
public:
    DocumentCutter(Library& library, int64_t document)
        : library_(library), document_(document), sections_(library.sections(document)), cutter_(headings())
    {
    }

    const std::vector<Section>& sections() const { return sections_; }
    uint64_t tokens() const { return tokens_; } // so far
    // Replaces `passages` with the next ones, which may be none; false at the end.
    bool next(std::vector<engine::Passage>& passages)
    {
        if (is_done_) return false;
        const auto ends = library_.token_ends(document_, tokens_, tokens_per_block);
        while (!ends.empty() && bytes_ < ends.back())
            push_text();
        cutter_.push(ends);
        tokens_ += ends.size();
        if (ends.size() < tokens_per_block) {
            is_done_ = true;
            cutter_.finish();
        }
        passages = cutter_.take();
        return true;
    }

private:
    std::vector<uint64_t> headings() const
    {
        std::vector<uint64_t> bytes;
        bytes.reserve(sections_.size());
        for (const Section& section : sections_)
            bytes.push_back(section.first_byte);
        return bytes;
    }

    void push_text()
    {
        const std::string block = library_.text_block(document_, block_++);
        if (block.empty()) refuse_damaged_document(document_);
        bytes_ += block.size();
        cutter_.push(block);
    }

    Library& library_;
    int64_t document_;
    std::vector<Section> sections_;
    engine::PassageCutter cutter_;
    int64_t block_ = 0;
    uint64_t tokens_ = 0, bytes_ = 0;
    bool is_done_ = false;
};

// Within a transaction.
void insert(Database& db, int64_t document, int64_t index, const engine::Passage& passage,
            const std::string& heading)
{
    auto place =
        db.statement("INSERT INTO passages(document, idx, first_token, end_token, first_byte, end_byte, section) "
                     "VALUES(?, ?, ?, ?, ?, ?, ?)");
    place.bind(1, document);
    place.bind(2, index);
    place.bind(3, static_cast<int64_t>(passage.first_token));
    place.bind(4, static_cast<int64_t>(passage.end_token));
    place.bind(5, static_cast<int64_t>(passage.first_byte));
    place.bind(6, static_cast<int64_t>(passage.end_byte));
    place.bind(7, passage.section);
    place.exec();
    auto words = db.statement("INSERT INTO passage_texts(rowid, text, heading) VALUES(?, ?, ?)");
    words.bind(1, db.last_row());
    words.bind(2, passage.text);
    words.bind(3, heading);
    words.exec();
    db.count_written(passage.text.size());
}

// Documents that are being imported have no number of tokens yet.
void check_tokens(Database& db, int64_t document, uint64_t tokens)
{
    auto query = db.statement("SELECT tokens FROM documents WHERE id = ? AND complete = 1");
    query.bind(1, document);
    if (query.executeStep() && query.getColumn(0).getInt64() != static_cast<int64_t>(tokens))
        refuse_damaged_document(document);
}

} // namespace

bool PassageIndex::build(int64_t document, const Progress& go_on)
{
    remove(document);
    try {
        return insert_all(document, go_on);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Resources) remove(document); // it would be searched in part
        throw;
    }
}

bool PassageIndex::insert_all(int64_t document, const Progress& go_on)
{
    Library library(db_);
    DocumentCutter cutter(library, document);
    std::vector<engine::Passage> passages;
    int64_t index = 0;
    while (cutter.next(passages)) {
        for (size_t at = 0; at < passages.size(); at += passages_per_transaction) {
            const size_t end = std::min(passages.size(), at + passages_per_transaction);
            db_.transaction([&] {
                for (size_t i = at; i < end; ++i) {
                    const int64_t section = passages[i].section;
                    insert(db_, document, index++, passages[i],
                           section < 0 ? std::string() : cutter.sections()[static_cast<size_t>(section)].title);
                }
            });
            if (go_on && !go_on(passages[end - 1].end_byte)) {
                remove(document);
                return false;
            }
        }
    }
    db_.transaction([&] {
        check_tokens(db_, document, cutter.tokens());
        auto complete = db_.statement("INSERT INTO indexed_documents(document, passages) VALUES(?, ?)");
        complete.bind(1, document);
        complete.bind(2, index);
        complete.exec();
    });
    return true;
}

void PassageIndex::remove(int64_t document)
{
    db_.transaction([&] {
        for (const char* sql :
             {"DELETE FROM indexed_documents WHERE document = ?",
              "DELETE FROM passage_texts WHERE rowid IN (SELECT id FROM passages WHERE document = ?)",
              "DELETE FROM passages WHERE document = ?", "DELETE FROM encoded_documents WHERE document = ?",
              "DELETE FROM passage_vectors WHERE document = ?"}) {
            auto statement = db_.statement(sql);
            statement.bind(1, document);
            statement.exec();
        }
    });
}

bool PassageIndex::is_complete(int64_t document)
{
    return db_.guarded([&] {
        auto query = db_.statement("SELECT 1 FROM indexed_documents WHERE document = ?");
        query.bind(1, document);
        return query.executeStep();
    });
}

std::vector<int64_t> PassageIndex::missing()
{
    return db_.guarded([&] {
        std::vector<int64_t> documents;
        auto query = db_.statement("SELECT id FROM documents WHERE complete = 1 AND id NOT IN "
                                   "(SELECT document FROM indexed_documents) ORDER BY id");
        while (query.executeStep())
            documents.push_back(query.getColumn(0).getInt64());
        return documents;
    });
}

std::optional<StoredPassage> PassageIndex::get(int64_t document, int64_t index)
{
    return db_.guarded([&]() -> std::optional<StoredPassage> {
        auto query = db_.statement("SELECT document, idx, first_token, end_token, first_byte, end_byte, section "
                                   "FROM passages WHERE document = ? AND idx = ?");
        query.bind(1, document);
        query.bind(2, index);
        if (!query.executeStep()) return std::nullopt;
        return stored_passage(query);
    });
}

std::vector<StoredPassage> PassageIndex::all(int64_t document)
{
    return db_.guarded([&] {
        std::vector<StoredPassage> passages;
        auto query = db_.statement("SELECT document, idx, first_token, end_token, first_byte, end_byte, section "
                                   "FROM passages WHERE document = ? ORDER BY idx");
        query.bind(1, document);
        while (query.executeStep())
            passages.push_back(stored_passage(query));
        return passages;
    });
}

std::string PassageIndex::text(const StoredPassage& passage)
{
    return Library(db_).text(passage.document, passage.first_byte, passage.end_byte);
}

} // namespace palimpsest::storage
