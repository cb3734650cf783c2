// A file with one exported session, which may come from anywhere: nothing of it is trusted, nothing in it runs, and
// it is never written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/database.h"
#include "storage/snapshot_form.h"

namespace palimpsest::storage {

// Whether it is a Palimpsest database of any version, by its header. A file that ends in ".palimpsest" is one, too,
// so that nobody takes a damaged one for text. Reads 72 bytes of a regular file; false for everything else.
bool is_export(const std::filesystem::path& file);

class ExportFile {
public:
    // Checks tables and pages before anything is read. Throws Error: NotFound (PAL-DOC-00, no such file), Failed
    // (PAL-DB-01 cannot be opened, 02 not an exported session, 03 damaged or cut off, 05 written by a newer
    // version), and Interrupted when stopped, as identity() and import_session do.
    explicit ExportFile(const std::filesystem::path& file, std::stop_token stop = {});

    const std::filesystem::path& file() const { return file_; }
    const std::stop_token& stop() const { return stop_; }
    Database& database() { return *database_; }
    const SessionInfo& session() const { return session_; }
    // Changes with every byte of the file. Reads all of it the first time.
    const std::string& identity();

    // Runs `work`, which reads the file. Errors about a database say what to do about a file of someone else
    // instead.
    template<class Work>
    static auto guarded(Work&& work)
    try {
        return work();
    } catch (const Error& error) {
        refuse_as_export(error);
    }

private:
    [[noreturn]] static void refuse_as_export(const Error& error);
    void check_pages_of(Database& database) const;
    void check_stop() const;

    std::filesystem::path file_;
    std::stop_token stop_;
    std::string identity_; // empty: not read yet
    std::unique_ptr<Database> database_;
    SessionInfo session_;
};

// What an exported file holds, in numbers.
struct ExportContents {
    uint64_t documents = 0, tokens = 0, notes = 0, messages = 0; // tokens: of the documents
    uint64_t cache_bytes = 0;                                    // of the newest checkpoint; 0: there is none
    SnapshotForm form = SnapshotForm::Exact;                     // of it
    uint64_t bytes = 0;                                          // of the database
    std::string session{}, model{};                              // names

    static ExportContents of(Database& database, const SessionInfo& session);
};

} // namespace palimpsest::storage
