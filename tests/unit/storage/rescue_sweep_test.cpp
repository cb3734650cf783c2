// Damages a database at one place after the other (docs/validation.md, P6): its texts are as they were or the
// damage is told, and after rescuing it, too, and the program can start.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/sweep_part.h"
#include "tests/support/test_level.h"
#include "tests/unit/storage/rescued_content.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using namespace palimpsest::tests;

namespace {

constexpr size_t page_bytes = 8192;
constexpr size_t stride = 64;

struct Counts {
    size_t cases = 0, refused = 0, without_loss = 0, with_loss = 0, lost_messages = 0, lost_documents = 0;
};

// What damage to a page can lose: nothing that is on other pages.
class PageOwners {
public:
    explicit PageOwners(const ThreeSessions& scene) : bytes_(scene.original)
    {
        scene.put(scene.original);
        SQLite::Database raw(scene.database().string(), SQLite::OPEN_READONLY);
        SQLite::Statement query(raw, "SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0");
        while (query.executeStep())
            tables_[static_cast<size_t>(query.getColumn(0).getInt64())] = query.getColumn(1).getString();
    }
    // Damage to the list of tables hides whole tables. A page that begins no table continues one row.
    bool may_lose_messages(size_t page) const
    {
        return is_list(page) || is_of(page, {"messages", "stream", "sessions"});
    }
    size_t most_documents(size_t page) const
    {
        return is_list(page) || is_of(page, {"documents", "document_blocks"}) ? 3 : tables_.contains(page) ? 0 : 1;
    }

private:
    bool is_list(size_t page) const
    {
        return page == 1 || bytes_.substr((page - 1) * page_bytes, page_bytes).find("CREATE ") != std::string::npos;
    }
    bool is_of(size_t page, std::initializer_list<const char*> tables) const
    {
        const auto found = tables_.find(page);
        return found != tables_.end() && std::find(tables.begin(), tables.end(), found->second) != tables.end();
    }

    const std::string& bytes_;
    std::map<size_t, std::string> tables_;
};

uint64_t told(const Rescued& rescued, std::initializer_list<LostPart> parts)
{
    uint64_t sum = 0;
    for (const Loss& loss : rescued.losses)
        if (std::find(parts.begin(), parts.end(), loss.part) != parts.end()) sum += loss.count;
    return sum;
}

class Sweep {
public:
    // `pages`: those that were damaged, from 1.
    void run(const std::string& damaged, const std::string& what, std::initializer_list<size_t> pages)
    {
        if (!part.has(position++)) return;
        INFO(what);
        ++counts.cases;
        scene.put(damaged);
        const std::string refused = refusal([&] { check_texts(Content::of(scene.database()), scene.content); });
        CAPTURE(refused);
        CHECK((refused.empty() || refused == "PAL-DB-03" || refused == "PAL-DB-02" || refused == "PAL-DB-05"));
        counts.refused += refused.empty() ? 0 : 1;

        scene.put(damaged);
        Rescued rescued;
        const std::string failed = refusal([&] { rescued = rescue(scene.database(), RescueMode::Replace); });
        CHECK(failed == "");
        if (!failed.empty()) return;
        CHECK(bytes_of_file(rescued.aside) == damaged);
        Content found;
        CHECK(refusal([&] { found = Content::of(scene.database()); }) == "");
        check_genuine(found, scene.content);
        CHECK(rescued.documents == found.all_documents);
        const size_t messages = scene.content.messages.size() - found.messages.size(),
                     documents = scene.content.documents.size() - found.documents.size();
        CHECK(told(rescued, {LostPart::Message}) >= messages);
        CHECK(told(rescued, {LostPart::DocumentText, LostPart::DocumentTokens}) >= documents);
        bool may_lose_messages = false;
        size_t most_documents = 0;
        for (const size_t page : pages) {
            may_lose_messages |= owners.may_lose_messages(page);
            most_documents += owners.most_documents(page);
        }
        CHECK((may_lose_messages || messages == 0));
        CHECK(documents <= most_documents);
        counts.lost_messages += messages;
        counts.lost_documents += documents;
        ++(rescued.losses.empty() ? counts.without_loss : counts.with_loss);
    }
    void report(const char* name) const
    {
        std::printf("%s: %zu cases, %zu refused at opening; rescued: %zu without loss, %zu with losses told; "
                    "%zu messages and %zu documents lost\n",
                    name, counts.cases, counts.refused, counts.without_loss, counts.with_loss, counts.lost_messages,
                    counts.lost_documents);
    }

    const ThreeSessions scene;
    const PageOwners owners{scene};
    const SweepPart part = sweep_part();
    size_t position = 0;
    Counts counts;
};

// One place in so many is tried.
size_t one_in(size_t usual, size_t ci)
{
    return at_full_level() ? 1 : at_ci_level() ? ci : usual;
}

} // namespace

TEST_CASE("one byte of every 64 is inverted")
{
    Sweep sweep;
    const std::string& original = sweep.scene.original;
    for (size_t i = 0; i * stride < original.size(); i += one_in(101, 601)) {
        const size_t at = i * stride + i % stride;
        std::string damaged = original;
        if (at < damaged.size()) damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
        sweep.run(damaged, "byte " + std::to_string(at), {at / page_bytes + 1});
    }
    sweep.report("bytes");
}

TEST_CASE("eight bytes of every 64 are overwritten")
{
    Sweep sweep;
    const std::string& original = sweep.scene.original;
    for (size_t i = 0; i * stride < original.size(); i += one_in(103, 607)) {
        std::string damaged = original;
        damaged.replace(i * stride, 8, "\x00\x01\x80\xFF\x00\x41\x7F\xAA", 8);
        sweep.run(damaged, "bytes " + std::to_string(i * stride), {i * stride / page_bytes + 1});
    }
    sweep.report("eight bytes");
}

TEST_CASE("every page is emptied, swapped with its neighbour, or an older version of itself")
{
    Sweep sweep;
    const std::string& original = sweep.scene.original;
    const std::string& older = sweep.scene.before_third;
    for (size_t page = 0; (page + 1) * page_bytes <= original.size(); page += one_in(3, 23)) {
        const size_t at = page * page_bytes;
        const std::string name = "page " + std::to_string(page + 1);
        std::string emptied = original;
        emptied.replace(at, page_bytes, std::string(page_bytes, '\0'));
        sweep.run(emptied, name + " emptied", {page + 1});
        if (at + 2 * page_bytes <= original.size()) {
            std::string swapped = original;
            swapped.replace(at, page_bytes, original, at + page_bytes, page_bytes);
            swapped.replace(at + page_bytes, page_bytes, original, at, page_bytes);
            sweep.run(swapped, name + " swapped", {page + 1, page + 2});
        }
        if (at + page_bytes <= older.size() && older.compare(at, page_bytes, original, at, page_bytes) != 0) {
            std::string stale = original;
            stale.replace(at, page_bytes, older, at, page_bytes);
            sweep.run(stale, name + " older", {page + 1});
        }
    }
    sweep.report("pages");
}
