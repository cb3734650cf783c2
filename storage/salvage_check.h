// Compares rows that were copied from a damaged database with their checksums and with each other, and makes of
// them a database that can be used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/database.h"
#include "storage/document_salvage.h"
#include "storage/loss.h"
#include "storage/row_salvage.h"

namespace palimpsest::storage {

class SalvageCheck {
public:
    // `rows`: where the rows of `database` come from; its indexes name some of those that are missing. `check_stop`
    // is called at every row that is compared, and may throw. The arguments must outlive this.
    SalvageCheck(Database& database, RowSalvage& rows, const std::function<void()>& check_stop)
        : db_(database), rows_(rows), check_stop_(check_stop), documents_(database, known_blocks_, check_stop)
    {
    }

    // A text that does not match its checksum, or whose session or role is not certain, is emptied, and its row
    // stays as a damaged one in its place: what comes before and after it keeps its meaning, and no reader takes it
    // for genuine. A row that is missing in such a place is made. Whatever else does not hold is removed. Reads
    // everything. `checked` is called with the share of documents and sessions that are compared, from 0 to 1.
    // Returns what is lost.
    std::vector<Loss> run(const std::function<void(double)>& checked);

private:
    void return_sessions();
    void make_lost_sessions();
    bool has_content(int64_t session);
    void check_session(int64_t session);
    void check_messages(int64_t session);
    bool check_stream(int64_t session); // false if parts are lost
    bool has_what_follows_a_stream(int64_t session);
    bool has_later_snapshot(int64_t session);
    void make_message(int64_t session, int64_t index);
    void empty_message(int64_t message);
    void check_snapshots(int64_t session, bool stream_is_whole);
    void check_fade_record(int64_t session);
    void check_pins(int64_t session, bool stream_is_whole);
    void check_rest();
    void check_details();
    void remove_orphans();
    void lose(LostPart part, int64_t session, const std::string& name = {}, uint64_t count = 1);

    Database& db_;
    RowSalvage& rows_;
    const std::function<void()>& check_stop_;
    std::map<int64_t, std::string> session_names_;
    std::set<int64_t> told_documents_;             // whose losses are told with a session
    std::map<int64_t, uint64_t> deleted_messages_; // by session
    // Of the session that is checked:
    uint64_t lost_messages_ = 0;
    std::set<int64_t> emptied_, placeholders_; // messages; placeholders: made by an earlier rescue
    std::set<std::string> tables_with_orphans_;
    // What the indexes know: the values are sessions, or documents; of known_sessions_, names.
    std::vector<RowSalvage::IndexEntry> known_sessions_, known_blocks_, known_messages_, known_parts_,
        known_snapshots_, known_pins_;
    DocumentSalvage documents_;
    std::vector<Loss> losses_;
};

} // namespace palimpsest::storage
