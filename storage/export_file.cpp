#include "storage/export_file.h"

#include <array>
#include <fstream>
#include <utility>
#include <vector>

#include "engine/text/unicode/utf8.h"
#include "storage/hash.h"
#include "storage/interrupted.h"
#include "storage/page_check.h"
#include "storage/schema.h"
#include "storage/snapshots.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// The database file format (https://www.sqlite.org/fileformat2.html#the_database_header).
constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};
constexpr size_t application_id_at = 68;

[[noreturn]] void refuse_export(const fs::path& file, ErrorCode code, const Text& what, const Text& remedy)
{
    throw Error(ErrorKind::Failed, code, Text::escaped(file.string()), what, remedy);
}

Text ask_again()
{
    return Text("get the file again from where it comes from");
}

} // namespace

bool is_export(const fs::path& file)
{
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) return false; // a pipe would be read
    if (file.extension() == ".palimpsest") return true;
    std::array<char, application_id_at + 4> header{};
    std::ifstream in(file, std::ios::binary);
    if (!in.read(header.data(), header.size()) || !std::string_view(header.data(), 16).starts_with(sqlite_magic))
        return false;
    uint32_t application = 0; // big-endian
    for (size_t i = application_id_at; i < header.size(); ++i)
        application = application << 8 | static_cast<unsigned char>(header[i]);
    return application == application_id;
}

ExportFile::ExportFile(const fs::path& file, std::stop_token stop) : file_(file), stop_(std::move(stop))
{
    std::error_code failed;
    if (!fs::exists(file, failed))
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::escaped(file.string()),
                    Text("there is no such file"), Text("check the name"));
    if (!fs::is_regular_file(file, failed)) // a pipe would be waited for
        refuse_export(file, ErrorCode::NotADatabase, Text("it is not a regular file"), Text(Step::ExportSession));
    if (fs::file_size(file, failed) == 0)
        refuse_export(file, ErrorCode::DamagedDatabase, Text("it is empty"), ask_again());
    if (const auto log = fs::file_size(file.string() + "-wal", failed); !failed && log > 0)
        refuse_export(file, ErrorCode::NotADatabase, Text("a log lies beside it, without which it is not complete"),
                      Text(Step::ExportSession));
    guarded([&] {
        database_ = std::make_unique<Database>(file, Database::Access::Immutable);
        database_->guarded([&] {
            if (version_of(database_->sql()) > schema_version) // its tables are not known, and were not checked
                refuse_export(file, ErrorCode::NewerDatabase,
                              Text("it was written by a newer version of Palimpsest"), Text("update Palimpsest"));
            check_pages_of(*database_);
        });
        const auto sessions = Conversations(*database_).list();
        if (sessions.size() != 1)
            refuse_export(file, ErrorCode::NotADatabase, Text("it is not an exported session"),
                          Text(Step::ExportSession));
        session_ = sessions[0];
        if (!engine::is_valid_utf8(session_.name) || !engine::is_valid_utf8(session_.model_name))
            refuse_export(file, ErrorCode::DamagedDatabase, Text("its names are not text in UTF-8"), ask_again());
    });
}

void ExportFile::check_pages_of(Database& database) const
{
    const auto go_on = [&] { return !stop_.stop_requested(); };
    const auto found = check_pages(database.sql(), PageCheck::Quick, go_on);
    if (!found) check_stop();
    if (found && !found->empty())
        refuse_export(file_, ErrorCode::DamagedDatabase, Text("it is damaged ({0})", Text::escaped(*found)),
                      ask_again());
}

void ExportFile::check_stop() const
{
    if (stop_.stop_requested()) throw Interrupted{Text("stopped while the file was checked; nothing was changed")};
}

void ExportFile::refuse_as_export(const Error& error)
{
    switch (error.code()) {
    case ErrorCode::NotADatabase:
        throw Error(error.kind(), error.code(), error.subject(), error.text(), Text(Step::ExportSession));
    case ErrorCode::DamagedDatabase:
    case ErrorCode::DamagedDocument:
    case ErrorCode::DamagedSnapshot:
        throw Error(error.kind(), error.code(), error.subject(), error.text(), ask_again());
    default:
        throw Error(error);
    }
}

const std::string& ExportFile::identity()
{
    if (!identity_.empty()) return identity_;
    std::ifstream in(file_, std::ios::binary);
    Hasher64 hash;
    uint64_t bytes = 0;
    std::vector<char> part(size_t{1} << 20);
    while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0) {
        check_stop();
        const auto read = std::span(part).first(static_cast<size_t>(in.gcount()));
        hash.push(std::as_bytes(read));
        bytes += read.size();
    }
    return identity_ = std::to_string(bytes) + " " + std::to_string(hash.value());
}

ExportContents ExportContents::of(Database& database, const SessionInfo& session)
{
    const auto number = [&](const char* sql) {
        return database.guarded([&] { return static_cast<uint64_t>(database.sql().execAndGet(sql).getInt64()); });
    };
    const auto states = Snapshots(database).of(session.id);
    return {.documents = number("SELECT count(*) FROM documents"),
            .tokens = number("SELECT coalesce(sum(tokens), 0) FROM documents"),
            .notes = number("SELECT count(*) FROM notes"),
            .messages = number("SELECT count(*) FROM messages"),
            .cache_bytes = states.empty() ? 0 : states.front().bytes,
            .form = states.empty() ? SnapshotForm::Exact : states.front().form,
            .bytes = database.file_bytes(),
            .session = session.name,
            .model = session.model_name};
}

} // namespace palimpsest::storage
