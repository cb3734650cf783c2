// Rescuing tells how far it is and can be stopped at every step, which changes nothing.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "storage/damage_check.h"
#include "storage/interrupted.h"
#include "storage/interruptible_file.h"
#include "storage/page_check.h"
#include "storage/rescue.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/damaged_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using namespace palimpsest::tests;
namespace fs = std::filesystem;

TEST_CASE("rescuing can be stopped at every step, and then changes nothing")
{
    const std::string damaged = damaged_by("UPDATE messages SET text = 'x' WHERE id = 1");
    std::vector<int> percents;
    const auto count = [&](int percent) {
        percents.push_back(percent);
        return true;
    };
    rescue(three().database(), RescueMode::ReplaceDamaged, count);
    const size_t steps = percents.size();
    REQUIRE(steps > 100);
    CHECK(std::is_sorted(percents.begin(), percents.end()));
    CHECK(percents.front() == 0);
    CHECK(percents.back() == 99);
    CHECK(std::set<int>(percents.begin(), percents.end()).size() > 20);
    for (const size_t last : {size_t{0}, steps / 8, steps / 4, steps / 2, steps * 3 / 4, steps - 1}) {
        size_t step = 0;
        const auto go_on = [&](int /*percent*/) { return step++ < last; };
        three().put(damaged);
        CHECK_THROWS_AS(rescue(three().database(), RescueMode::ReplaceDamaged, go_on), Interrupted);
        CHECK(bytes_of_file(three().database()) == damaged);
        CHECK(files().count("palimpsest.db") == 1);
    }
}

TEST_CASE("every check of a rescue asks whether it goes on")
{
    three().put(three().original);
    const fs::path copy = three().folder() / "palimpsest-copy.db";
    fs::copy_file(three().database(), copy);
    size_t asked = 0, last = SIZE_MAX;
    const auto go_on = [&] { return asked++ < last; };
    {
        Database opened(copy, Database::Access::Read);
        CHECK(check_pages(opened.sql(), PageCheck::Whole, go_on).value() == "");
    }
    const size_t of_pages = std::exchange(asked, 0);
    CHECK(is_sound(copy, go_on));
    const size_t of_all = std::exchange(asked, 0);
    CHECK(of_all > of_pages + 5); // the references and the index of passages take reads of their own
    for (last = of_pages; last < of_all; ++last, asked = 0)
        CHECK_FALSE(is_sound(copy, go_on));
}

TEST_CASE("a check of a copy leaves its log beside it, because nothing could stop taking it in")
{
    three().put(three().original);
    const fs::path copy = three().folder() / "palimpsest-copy.db";
    {
        Database owner(three().database(), Database::Access::Write);
        owner.sql().exec("UPDATE sessions SET changed_ms = changed_ms + 1");
        for (const char* ending : {"", "-wal"})
            fs::copy_file(three().database().string() + ending, copy.string() + ending);
    }
    const std::string before = bytes_of_file(copy), log = bytes_of_file(copy.string() + "-wal");
    REQUIRE(!log.empty());
    CHECK(is_sound(copy, {}));
    CHECK((bytes_of_file(copy) == before));
    CHECK((bytes_of_file(copy.string() + "-wal") == log));
}

TEST_CASE("the end of a log that becomes part of its database asks whether it goes on")
{
    const fs::path file = three().folder() / "palimpsest-log.db";
    SQLite::Database db(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t(x); PRAGMA wal_checkpoint(TRUNCATE)");
    db.exec("PRAGMA wal_autocheckpoint = 0; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
            "i < 100) INSERT INTO t SELECT randomblob(8000) FROM n");
    const auto size = [&] { return fs::file_size(file); };
    const auto before = size();
    int asked = 0;
    {
        const std::function<bool()> go_on = [&] { return asked++ < 10; };
        const InterruptibleFile questioned(db, go_on);
        db.tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
        CHECK(questioned.was_stopped());
    }
    CHECK(asked == 11);
    CHECK(size() < before + 20 * 4096);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK(size() > before + 100 * 8000);
    CHECK(db.execAndGet("SELECT count(*) FROM t").getInt() == 100);
}
