// Snapshots are exact, and are refused if a single bit is not what was saved (docs/validation.md, K1 to K10).
#include <cmath>
#include <random>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/snapshots.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;

namespace {

std::shared_ptr<const Model> load(const tests::RandomModelShape& shape = {})
{
    const auto path = tests::random_model(shape);
    auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
    std::filesystem::remove(path);
    return model;
}

const tests::RandomModelShape tiny{.layers = 2, .dim = 16, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 16};

SessionOptions options(const std::string& policy, int32_t budget)
{
    SessionOptions o;
    o.policy = PolicySpec::parse(policy);
    o.budget = budget;
    o.chunk = 16;
    return o;
}

std::vector<TokenId> text(size_t count)
{
    std::mt19937 random(3);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(random() % 96);
    return tokens;
}

std::vector<TokenId> answer(Session& session)
{
    return session.generate({.max_tokens = 64, .stop = {}, .token = {}, .is_end = {}}).tokens;
}

struct Encoded {
    std::vector<std::vector<std::byte>> blocks; // declared before the header, whose initialiser fills it
    std::vector<std::byte> header;

    explicit Encoded(const SessionState& state, SnapshotForm form = SnapshotForm::Exact)
        : header(encode(state, form, [&](const BlockName&, std::span<const std::byte> raw) {
              blocks.emplace_back(raw.begin(), raw.end());
          }))
    {
    }
    SessionState decoded() const
    {
        return decode(
            header,
            [&](size_t i, std::span<std::byte> to) {
                if (i >= blocks.size() || blocks[i].size() != to.size())
                    throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("block"), Text("missing"),
                                Text());
                std::copy(blocks[i].begin(), blocks[i].end(), to.begin());
            },
            [](const SessionState&) { return UINT64_MAX; });
    }
};

int64_t new_session(Database& database, const std::string& name)
{
    return Conversations(database).create({.name = name, .model = "m", .model_name = "m", .options = "{}"});
}

} // namespace

TEST_CASE("a session that is restored from its snapshot continues bit for bit")
{
    ScratchDatabase database;
    const auto model = load();
    Snapshots snapshots(*database);
    for (const std::string policy : {"treekv", "treekv-log", "streaming", "lacache", "full"}) {
        INFO(policy);
        SessionOptions o = options(policy, policy == "full" ? 600 : 48);
        o.sampler.temperature = 0.7;
        o.sampler.repeat_penalty = 1.1;
        Session session(model, o);
        session.feed(text(203)); // 11 tokens are pending
        const int64_t owner = new_session(*database, policy);
        const int64_t id = snapshots.save(owner, session.state());
        const auto restored = Session::restore(model, snapshots.load(id));
        CHECK(restored->pending() == 11);
        CHECK(restored->retention().tokens == session.retention().tokens);
        CHECK(answer(*restored) == answer(session));
        CHECK(restored->logits() == session.logits());

        // In the middle of an answer.
        const int64_t later = snapshots.save(owner, session.state());
        const auto again = Session::restore(model, snapshots.load(later));
        CHECK(answer(*again) == answer(session));
        CHECK(snapshots.of(owner).size() == 2);
    }
}

namespace {

SessionState rounded_state(Session& session, SnapshotForm form)
{
    const int64_t dim = session.model().config().head_dim;
    return session.state(rounding_of(form, *session.options().kv_type, dim));
}

size_t bytes_of(const Encoded& encoded)
{
    size_t bytes = encoded.header.size();
    for (const auto& block : encoded.blocks)
        bytes += block.size();
    return bytes;
}

} // namespace

TEST_CASE(
    "a rounded snapshot is smaller, gives back its rounded rows bit for bit, and is the same when saved again")
{
    ScratchDatabase database;
    const auto model = load({.head_dim = 64});
    Snapshots snapshots(*database);
    const auto form = GENERATE(SnapshotForm::Q8, SnapshotForm::Q4);
    for (const std::string policy : {"treekv", "streaming", "quest"}) {
        CAPTURE(policy, name_of(form));
        Session session(model, options(policy, policy == "quest" ? 600 : 48));
        session.feed(text(203));
        const SessionState state = rounded_state(session, form);
        const int64_t owner = new_session(*database, policy + std::string(name_of(form)));
        const int64_t id = snapshots.save(owner, state, {}, form);
        const SessionState loaded = snapshots.load(id);
        REQUIRE(loaded.lists.size() == state.lists.size());
        for (size_t i = 0; i < state.lists.size(); ++i) {
            CHECK((loaded.lists[i].keys == state.lists[i].keys));
            CHECK((loaded.lists[i].values == state.lists[i].values));
        }
        CHECK(snapshots.of(owner).front().form == form);
        const auto restored = Session::restore(model, loaded);
        CHECK((Encoded(rounded_state(*restored, form), form).blocks == Encoded(state, form).blocks));
        const auto exact = static_cast<double>(bytes_of(Encoded(session.state())));
        CHECK(static_cast<double>(bytes_of(Encoded(state, form))) <
              exact * (form == SnapshotForm::Q8 ? 0.65 : 0.45));
        CHECK(answer(session).size() == 64); // saving left the session in order
    }
}

TEST_CASE("rows that are not rounded are stored as they are in a rounded snapshot, too")
{
    const auto model = load({.head_dim = 64});
    Session session(model, options("treekv", 48));
    session.feed(text(203));
    const SessionState exact = session.state();
    const SessionState decoded = Encoded(exact, SnapshotForm::Q4).decoded();
    for (size_t i = 0; i < exact.lists.size(); ++i) {
        CHECK((decoded.lists[i].keys == exact.lists[i].keys));
        CHECK((decoded.lists[i].values == exact.lists[i].values));
    }
    CHECK(answer(*Session::restore(model, decoded)) == answer(session));
}

TEST_CASE("keys and values that no code makes smaller are stored exactly, in the form that says so")
{
    const auto model = load(tiny); // heads of fewer than 32 elements
    Session session(model, options("treekv", 24));
    session.feed(text(60));
    const Encoded encoded(rounded_state(session, SnapshotForm::Q8), SnapshotForm::Q8);
    CHECK(form_of(encoded.header) == SnapshotForm::Exact);
    CHECK((encoded.header == Encoded(session.state()).header));
}

TEST_CASE("K1-K9: no damaged rounded snapshot becomes a session or allocates more than it may")
{
    const auto model = load({.layers = 1, .head_dim = 32});
    Session session(model, options("treekv", 24));
    session.feed(text(100));
    const auto form = GENERATE(SnapshotForm::Q8, SnapshotForm::Q4);
    SessionState state = rounded_state(session, form);
    state.lists.front().keys[0] ^= std::byte{1}; // so that not all rows are coded
    const Encoded whole(state, form);
    REQUIRE_NOTHROW(whole.decoded());
    // Damage with corrected checksums, as by an attacker: nothing is read out of bounds.
    for (size_t i = 0; i < whole.header.size(); ++i)
        for (const std::byte change : {std::byte{0xFF}, std::byte{1}}) {
            Encoded bad = whole;
            bad.header[i] ^= change;
            refusal([&] { Session::restore(model, bad.decoded()); });
        }
    for (size_t length = 0; length < whole.header.size(); ++length) {
        Encoded bad = whole;
        bad.header.resize(length);
        CHECK(refusal([&] { bad.decoded(); }) == "PAL-SNAP-03");
    }
    // A bitmap that does not agree with the header, with the hash that fits: the last row of the first list becomes
    // coded, or not.
    {
        Encoded bad = whole;
        const size_t tokens = state.lists.front().tokens.size();
        const size_t at = state.logits.size() * sizeof(float) +
                          tokens * (sizeof(uint32_t) + (state.lists.front().tokens.sum.empty() ? 0 : 16));
        bad.blocks[0].at(at) ^= std::byte{2};
        const Hash128 before = hash128(whole.blocks[0]), now = hash128(bad.blocks[0]);
        const auto* named = std::as_bytes(std::span(before)).data();
        const auto found = std::search(bad.header.begin(), bad.header.end(), named, named + before.size());
        REQUIRE(found != bad.header.end());
        std::copy_n(std::as_bytes(std::span(now)).data(), now.size(), found);
        CHECK(refusal([&] { bad.decoded(); }) == "PAL-SNAP-03");
    }
    const auto limit_asked = [&](const PayloadLimit& limit) {
        decode(
            whole.header,
            [&](size_t i, std::span<std::byte> to) {
                std::copy(whole.blocks.at(i).begin(), whole.blocks.at(i).end(), to.begin());
            },
            limit);
    };
    const uint64_t in_memory = Session::largest_lists(*model, state);
    CHECK(bytes_of(whole) < in_memory); // what it takes decoded counts, not what is stored
    CHECK_NOTHROW(limit_asked([&](const SessionState& s) { return Session::largest_lists(*model, s); }));
    CHECK(refusal([&] { limit_asked([&](const SessionState&) { return bytes_of(whole); }); }) == "PAL-SNAP-03");
}

TEST_CASE("a session without tokens can be saved")
{
    const auto model = load(tiny);
    Session session(model, options("treekv", 24));
    const Encoded encoded(session.state());
    const auto restored = Session::restore(model, encoded.decoded());
    session.feed(text(50));
    restored->feed(text(50));
    CHECK(answer(*restored) == answer(session));
}

TEST_CASE("K1-K9: no damaged snapshot becomes a session")
{
    const auto model = load(tiny);
    ScratchDatabase database;
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 24));
    session.feed(text(100));
    const int64_t owner = new_session(*database, "s");
    const int64_t id = snapshots.save(owner, session.state());
    const Encoded whole(session.state());
    REQUIRE_NOTHROW(Session::restore(model, snapshots.load(id)));

    // Damage in the database: one flipped bit in every byte of the snapshot's rows, and truncated rows.
    const auto restored = [&] { Session::restore(model, snapshots.load(id)); };
    const auto flip_each = [&](const char* read, const char* write) {
        std::vector<std::byte> bytes;
        {
            auto query = database->statement(read);
            REQUIRE(query.executeStep());
            const auto column = query.getColumn(0);
            const auto* first = static_cast<const std::byte*>(column.getBlob());
            bytes.assign(first, first + column.getBytes());
        }
        const auto put = [&] {
            auto update = database->statement(write);
            update.bind(1, bytes.data(), static_cast<int>(bytes.size()));
            update.exec();
        };
        SQLite::Transaction all(database->sql()); // rolled back in the end
        for (size_t i = 0; i < bytes.size(); ++i) {
            const auto bit = static_cast<std::byte>(1u << (i % 8));
            bytes[i] ^= bit;
            put();
            const std::string code = refusal(restored);
            if (code != "PAL-SNAP-03" && code != "PAL-SNAP-05") FAIL("byte " << i << ": '" << code << "'");
            bytes[i] ^= bit;
        }
        const auto full = bytes;
        for (size_t length = 0; length < full.size(); length += 1 + full.size() / 500) {
            bytes.assign(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(length));
            put();
            const std::string code = refusal(restored);
            if (code != "PAL-SNAP-03") FAIL("cut to " << length << ": '" << code << "'");
        }
    };
    flip_each("SELECT header FROM snapshots", "UPDATE snapshots SET header = ?");
    flip_each("SELECT data FROM blocks ORDER BY id LIMIT 1",
              "UPDATE blocks SET data = ? WHERE id = (SELECT min(id) FROM blocks)");
    REQUIRE_NOTHROW(restored());

    // Damage in the bytes with corrected checksums, as by an attacker: nothing is read out of bounds.
    for (size_t i = 0; i < whole.header.size(); ++i) {
        Encoded bad = whole;
        bad.header[i] ^= std::byte{0xFF};
        refusal([&] { Session::restore(model, bad.decoded()); });
    }
    for (size_t length = 0; length < whole.header.size(); ++length) {
        Encoded bad = whole;
        bad.header.resize(length);
        CHECK(refusal([&] { bad.decoded(); }) == "PAL-SNAP-03");
    }
    REQUIRE_NOTHROW(Session::restore(model, whole.decoded()));
}

TEST_CASE("K3: nothing is allocated for more than a live session can hold")
{
    const auto model = load(tiny);
    ScratchDatabase database;
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 32));
    session.feed(text(300));
    const auto limit = [&](const SessionState& s) { return Session::largest_lists(*model, s); };
    const SessionState state = session.state();
    const int64_t owner = new_session(*database, "one");
    const int64_t good = snapshots.save(owner, state);
    CHECK_NOTHROW(snapshots.load(good, limit));

    SessionState larger = state;
    larger.lists[0].tokens.stream.resize(40000);
    larger.lists[0].tokens.sum.resize(40000);
    larger.lists[0].tokens.count.resize(40000);
    larger.lists[0].keys.resize(40000 * state.lists[0].keys.size() / state.lists[0].tokens.size());
    larger.lists[0].values.resize(larger.lists[0].keys.size());
    const int64_t bad = snapshots.save(owner, larger);
    CHECK_NOTHROW(snapshots.load(bad)); // its checksums are right
    CHECK(refusal([&] { snapshots.load(bad, limit); }) == "PAL-SNAP-03");

    SessionState impossible = state;
    impossible.budget = 1 << 29;
    CHECK(refusal([&] { Session::largest_lists(*model, impossible); }) == "PAL-SNAP-02");
}

namespace {

// A session whose state has all optional content: moments, and the tokens of a question.
std::unique_ptr<Session> reading_with_a_question(const std::shared_ptr<const Model>& model)
{
    SessionOptions o = options("cake:window=4", 24);
    o.question_room = 12;
    auto session = std::make_unique<Session>(model, o);
    session->set_question_ids({3, 1, 4, 1, 5});
    session->feed(text(100));
    return session;
}

} // namespace

TEST_CASE("moments and the tokens of a question are in a snapshot")
{
    const auto model = load(tiny);
    const auto session = reading_with_a_question(model);
    const Encoded encoded(session->state());
    const SessionState state = encoded.decoded();
    CHECK(state.question_ids == std::vector<TokenId>{3, 1, 4, 1, 5});
    CHECK(state.question_room == 12);
    CHECK(state.lists[1].tokens.moments.size() == state.lists[1].tokens.size() * 2 * 2);
    CHECK(state.lists[1].tokens.moments == session->state().lists[1].tokens.moments);
    const auto restored = Session::restore(model, state);
    CHECK(restored->options().question_room == 12);
    for (Session* s : {session.get(), restored.get()})
        s->feed(text(90));
    CHECK(answer(*restored) == answer(*session));
    CHECK(restored->retention().tokens == session->retention().tokens);

    // The lists are as large as they may become; a damaged question or moment is refused.
    const SessionState full = session->state();
    uint64_t bytes = full.logits.size() * sizeof(float);
    for (const ListAtRest& list : full.lists)
        bytes += list.tokens.size() * (sizeof(uint32_t) + 6 * sizeof(double)) + 2 * list.keys.size();
    CHECK(session->telemetry().slots_used == 2 * 24);
    CHECK(Session::largest_lists(*model, full) == bytes);
    const auto refused = [&](auto change) {
        SessionState bad = full;
        change(bad);
        CHECK_THROWS_AS(Session::restore(model, bad), Error);
    };
    refused([](SessionState& s) { s.question_ids[0] = 96; });
    refused([](SessionState& s) { s.question_ids[0] = -1; });
    refused([](SessionState& s) { s.question_ids.resize(5000, 1); });
    refused([](SessionState& s) { s.question_room = -1; });
    refused([](SessionState& s) { s.question_room = INT32_MAX; });
    refused([](SessionState& s) { s.lists[0].tokens.moments.pop_back(); });
    refused([](SessionState& s) { s.lists[0].tokens.moments.clear(); });
    refused([](SessionState& s) { s.lists[1].tokens.moments[2] = std::nan(""); });
    for (size_t i = 0; i < encoded.header.size(); ++i) {
        Encoded bad = encoded;
        bad.header[i] ^= std::byte{0xFF};
        refusal([&] { Session::restore(model, bad.decoded()); });
    }
}

namespace {

// Encodes a state in an older format: version 2 has no moments and no question, version 1 also has no pins and no
// requested policy.
Encoded in_format(uint8_t version, const SessionState& state)
{
    Encoded old(state);
    auto& bytes = old.header;
    REQUIRE(bytes[8] == std::byte{3});
    REQUIRE(state.question_ids.empty());
    const auto list = [](size_t count) { return static_cast<std::ptrdiff_t>(sizeof(uint32_t) + count); };
    const auto given = 12 + list(state.model_fingerprint.size()) + list(state.arithmetic.size()) +
                       list(state.policy.text().size());
    const auto question = given + list(state.given.text().size()) + list(state.pins.size() * sizeof(TokenRange));
    const auto moments = std::ssize(bytes) - list(old.blocks.size() * sizeof(BlockName)) - list(0);
    const auto erase = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        bytes.erase(bytes.begin() + first, bytes.begin() + last);
    };
    erase(moments, moments + list(0));
    erase(question, question + 2 * list(0)); // and question_room
    if (version == 1) erase(given, question);
    bytes[8] = std::byte{version};
    return old;
}

} // namespace

TEST_CASE("a snapshot of format 2, which had no moments and no question, is read")
{
    const auto model = load(tiny);
    SessionOptions o = options("treekv:sinks=2", 24);
    o.pins = Pins({{40, 44}});
    Session session(model, o);
    session.feed(text(100));
    const Encoded old = in_format(2, session.state());
    const SessionState state = old.decoded();
    CHECK(state.given == PolicySpec::parse("treekv:sinks=2"));
    CHECK(state.pins == o.pins.ranges());
    CHECK(position_of(old.header) == 100);
    const auto restored = Session::restore(model, state);
    CHECK(restored->question_ids().empty());
    CHECK(restored->pins() == o.pins);
    for (Session* s : {&session, restored.get()})
        s->feed(text(50));
    CHECK(answer(*restored) == answer(session));
}

TEST_CASE("a snapshot of format 1, which had no pins either, is read")
{
    const auto model = load(tiny);
    Session session(model, options("treekv:sinks=2", 24));
    session.feed(text(100));
    const Encoded old = in_format(1, session.state());
    const SessionState state = old.decoded();
    CHECK(state.given == session.options().policy); // format 1 stores only the resolved policy
    CHECK(state.pins.empty());
    CHECK(position_of(old.header) == 100);
    const auto restored = Session::restore(model, state);
    for (Session* s : {&session, restored.get()})
        s->feed(text(50));
    CHECK(answer(*restored) == answer(session));
}

TEST_CASE("a damaged snapshot of an older format is refused, too")
{
    const auto model = load(tiny);
    Session session(model, options("treekv", 24));
    session.feed(text(100));
    for (const uint8_t version : {uint8_t{1}, uint8_t{2}}) {
        const Encoded old = in_format(version, session.state());
        REQUIRE_NOTHROW(old.decoded());
        for (size_t length = 0; length < old.header.size(); ++length) {
            Encoded bad = old;
            bad.header.resize(length);
            CHECK(refusal([&] { bad.decoded(); }) == "PAL-SNAP-03");
        }
        for (const uint8_t other : {uint8_t{1}, uint8_t{2}, uint8_t{3}}) { // read as another version
            Encoded bad = old;
            bad.header[8] = std::byte{other};
            if (other != version) CHECK(refusal([&] { bad.decoded(); }) == "PAL-SNAP-03");
        }
    }
}

TEST_CASE("K3: list sizes whose total overflows to the size of the blocks are refused")
{
    const auto model = load(tiny);
    const Encoded empty(Session(model, options("treekv", 24)).state());
    REQUIRE(empty.blocks.empty());
    // The header of an empty session ends in the number of lists, their two lengths, the logits, the bytes of a
    // key, sums, moments, and no blocks.
    constexpr size_t lists = 2, tail = (1 + lists + 2) * sizeof(uint32_t) + 1 + 2 * sizeof(uint32_t);
    const auto header = [&](uint32_t length) {
        constexpr uint32_t count = 1 << 20, row_bytes = 49150, moments = 4096;
        static_assert(sizeof(uint32_t) + 2 * row_bytes + moments * sizeof(double) == 1 << 17);
        std::vector<std::byte> bytes(empty.header.begin(), empty.header.end() - tail);
        const auto put = [&](const auto& value) {
            const auto raw = std::as_bytes(std::span(&value, 1));
            bytes.insert(bytes.end(), raw.begin(), raw.end());
        };
        put(count);
        for (uint32_t i = 0; i < count; ++i)
            put(length);
        put(uint32_t{0}), put(row_bytes), put(uint8_t{0}), put(moments), put(uint32_t{0});
        return bytes;
    };
    CHECK(blocks_of(header(0)).empty());
    CHECK(refusal([&] { blocks_of(header(1 << 27)); }) == "PAL-SNAP-03"); // 2^20 * 2^27 * 2^17 bytes
    CHECK(refusal([&] { blocks_of(header(1)); }) == "PAL-SNAP-03");
}

TEST_CASE("swapped or missing blocks are refused")
{
    const auto model = load({.layers = 6, .dim = 64, .heads = 4, .kv_heads = 4, .head_dim = 64, .ffn = 64});
    Session session(model, options("streaming", 500));
    session.feed(text(600));
    const Encoded whole(session.state());
    REQUIRE(whole.blocks.size() >= 3);
    REQUIRE_NOTHROW(whole.decoded());
    Encoded swapped = whole;
    std::swap(swapped.blocks[0], swapped.blocks[1]);
    CHECK(refusal([&] { swapped.decoded(); }) == "PAL-SNAP-03");
    for (size_t i = 0; i < whole.blocks.size(); ++i) {
        Encoded missing = whole;
        missing.blocks.erase(missing.blocks.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(refusal([&] { missing.decoded(); }) == "PAL-SNAP-03");
    }
    ScratchDatabase database;
    Snapshots snapshots(*database);
    const int64_t id = snapshots.save(new_session(*database, "s"), session.state());
    database->sql().exec("DELETE FROM snapshot_blocks WHERE idx = 1");
    CHECK(refusal([&] { snapshots.load(id); }) == "PAL-SNAP-03");
}

TEST_CASE("a snapshot of another model is refused, even of the same shapes")
{
    const auto model = load(), other = load({.seed = 2});
    Session session(model, options("treekv", 48));
    session.feed(text(100));
    const Encoded encoded(session.state());
    CHECK(refusal([&] { Session::restore(other, encoded.decoded()); }) == "PAL-SNAP-02");
}

TEST_CASE("only the newest two snapshots are kept, and forks share their blocks")
{
    ScratchDatabase database;
    const auto model = load();
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 48));
    const int64_t owner = new_session(*database, "one"), other = new_session(*database, "two");
    const auto blocks = [&] { return database->sql().execAndGet("SELECT count(*) FROM blocks").getInt(); };
    int64_t newest = 0;
    for (int i = 0; i < 4; ++i) {
        session.feed(text(64));
        newest = snapshots.save(owner, session.state());
    }
    const auto kept = snapshots.of(owner);
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].id == newest);
    CHECK(kept[0].tokens_seen == 256);
    const int before = blocks();
    const int64_t shared = snapshots.share(newest, other);
    CHECK(blocks() == before);
    snapshots.remove_all(owner);
    CHECK(snapshots.of(owner).empty());
    CHECK(Session::restore(model, snapshots.load(shared))->logits() == session.logits());
    snapshots.remove_all(other);
    CHECK(blocks() == 0);
}

TEST_CASE("undoing a turn removes the checkpoints in which its tokens are pending")
{
    ScratchDatabase database;
    const auto model = load(tiny);
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 24));
    session.feed(text(195)); // 3 tokens are pending
    const int64_t owner = new_session(*database, "one");
    const int64_t before = snapshots.save(owner, session.state());
    session.feed(text(8)); // the turn: 11 tokens are pending
    const int64_t after = snapshots.save(owner, session.state());
    const auto ids = [&] {
        std::vector<int64_t> all;
        for (const SnapshotInfo& info : snapshots.of(owner))
            all.push_back(info.id);
        return all;
    };
    const auto take_back_to = [&](uint64_t tokens) {
        database->transaction([&] { snapshots.remove_after(owner, tokens); });
    };
    REQUIRE(snapshots.of(owner)[0].tokens_seen == 192);
    take_back_to(203);
    CHECK(ids() == std::vector<int64_t>{after, before});
    take_back_to(202);
    CHECK(ids() == std::vector<int64_t>{before});
    take_back_to(195);
    CHECK(ids() == std::vector<int64_t>{before});
    take_back_to(194);
    CHECK(ids().empty());
    CHECK(database->sql().execAndGet("SELECT count(*) FROM blocks").getInt() == 0);

    snapshots.save(owner, session.state());
    database->sql().exec("UPDATE snapshots SET header = zeroblob(100)"); // its position in the stream is unknown
    take_back_to(203);
    CHECK(ids().empty());
}

TEST_CASE("removing a checkpoint removes no block that another one uses")
{
    ScratchDatabase database;
    const auto model = load(tiny);
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 24));
    session.feed(text(64));
    const int64_t owner = new_session(*database, "one");
    const int64_t first = snapshots.save(owner, session.state());
    const int64_t same = snapshots.save(owner, session.state());
    snapshots.remove(same);
    REQUIRE(snapshots.of(owner).size() == 1);
    CHECK(snapshots.of(owner)[0].id == first);
    CHECK(Session::restore(model, snapshots.load(first))->logits() == session.logits());
    database->transaction([&] { snapshots.remove(first); });
    CHECK(snapshots.of(owner).empty());
    CHECK(database->sql().execAndGet("SELECT count(*) FROM blocks").getInt() == 0);
}

TEST_CASE("besides the newest checkpoint one at another place of the stream is kept, if there is one")
{
    ScratchDatabase database;
    const auto model = load(tiny);
    Snapshots snapshots(*database);
    Session session(model, options("treekv", 24));
    const int64_t owner = new_session(*database, "one");
    const auto kept = [&] {
        std::vector<uint64_t> places;
        for (const SnapshotInfo& info : snapshots.of(owner)) {
            const SessionState state = snapshots.load(info.id);
            places.push_back(state.tokens_seen + state.pending.size());
        }
        return places;
    };
    const auto save = [&] { snapshots.save(owner, session.state()); };
    session.feed(text(64));
    save();
    save();
    CHECK(kept() == std::vector<uint64_t>{64, 64});
    session.feed(text(3)); // they are pending
    for (int i = 0; i < 3; ++i) {
        save();
        CHECK(kept() == std::vector<uint64_t>{67, 64});
    }
    session.feed(text(64));
    save();
    CHECK(kept() == std::vector<uint64_t>{131, 67});
}

TEST_CASE("incomplete snapshots of a crash are hidden, and removed later")
{
    ScratchDatabase database;
    const auto model = load();
    Session session(model, options("treekv", 48));
    session.feed(text(64));
    Snapshots snapshots(*database);
    const int64_t owner = new_session(*database, "one");
    const int64_t good = snapshots.save(owner, session.state());
    const auto rows = [&] { return database->sql().execAndGet("SELECT count(*) FROM snapshots").getInt(); };
    CHECK_THROWS(snapshots.save(owner, session.state(), [] { throw std::runtime_error("not after all"); }));
    CHECK(rows() == 1);
    session.feed(text(64));
    snapshots.save(owner, session.state());
    database->sql().exec("UPDATE snapshots SET complete = 0 WHERE id <> " + std::to_string(good));
    REQUIRE(snapshots.of(owner).size() == 1);
    CHECK(snapshots.of(owner)[0].id == good);
    snapshots.sweep();
    CHECK(rows() == 1);
    CHECK_NOTHROW(snapshots.load(good));
}

TEST_CASE("a damaged block is written again with the next snapshot that contains it")
{
    ScratchDatabase database;
    const auto model = load(tiny);
    Session session(model, options("treekv", 24));
    session.feed(text(64));
    Snapshots snapshots(*database);
    const int64_t owner = new_session(*database, "one");
    const int64_t first = snapshots.save(owner, session.state());
    database->sql().exec("UPDATE blocks SET data = zeroblob(length(data))");
    CHECK(refusal([&] { snapshots.load(first); }) == "PAL-SNAP-03");
    const int64_t second = snapshots.save(owner, session.state());
    CHECK(Session::restore(model, snapshots.load(second))->logits() == session.logits());
}
