#include "storage/provenance.h"

#include <nlohmann/json.hpp>
#include <span>

#include "engine/session/session_options.h"
#include "storage/hash.h"

namespace palimpsest::storage {
namespace {

using nlohmann::json;

constexpr int most_bytes = 1 << 18; // of a row; a sentence and some numbers take a hundredth of that

int64_t hash_of(const std::string& data)
{
    return hash64(std::as_bytes(std::span(data)));
}

json json_of(const StreamRange& range)
{
    return {range.first, range.last};
}

std::string data_of(const Provenance& from)
{
    json sources = json::array();
    for (const Provenance::Source& source : from.sources)
        sources.push_back({{"tokens", json_of(source.range)},
                           {"weight", source.weight},
                           {"held", source.held},
                           {"read_again", source.read_again}});
    json all = {{"tokens_in_input", from.tokens_in_input},
                {"tokens_read", from.tokens_read},
                {"budget", from.budget},
                {"sources", std::move(sources)},
                {"sources_alone", from.is_from_sources_alone}};
    if (const auto& quote = from.quote) {
        all["quote"] = {{"text", quote->text},
                        {"place", quote->place},
                        {"tokens", json_of(quote->range)},
                        {"unsupported", quote->unsupported}};
        if (!quote->pages.first.empty()) all["quote"]["page"] = quote->pages.first;
        if (!quote->pages.is_one_page()) all["quote"]["last_page"] = quote->pages.last;
    }
    // A model's answer may end within a character.
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads what data_of() writes: rows of an imported session may hold anything. Throws json::exception.
class Reader {
public:
    explicit Reader(uint64_t stream_tokens) : stream_tokens_(stream_tokens) {}

    // Absent if something in it is impossible.
    std::optional<Provenance> read(const std::string& data)
    {
        const json all = json::parse(data);
        Provenance from{.tokens_in_input = tokens(all.at("tokens_in_input")),
                        .tokens_read = tokens(all.at("tokens_read")),
                        .budget = static_cast<int32_t>(number(all.at("budget"), engine::no_budget)),
                        .is_from_sources_alone = all.at("sources_alone").get<bool>()};
        require(from.tokens_read <= from.tokens_in_input && all.at("sources").size() <= most_sources);
        for (const json& source : all.at("sources"))
            from.sources.push_back({.range = range(source.at("tokens")),
                                    .weight = share(source.at("weight")),
                                    .held = share(source.at("held")),
                                    .read_again = source.at("read_again").get<bool>()});
        if (const auto quote = all.find("quote"); quote != all.end()) {
            const std::string page = quote->value("page", std::string());
            from.quote = QuotedSentence{.text = quote->at("text").get<std::string>(),
                                        .place = quote->at("place").get<std::string>(),
                                        .range = range(quote->at("tokens")),
                                        .pages = {page, quote->value("last_page", page)},
                                        .unsupported = quote->at("unsupported").get<std::vector<std::string>>()};
        }
        return is_possible_ ? std::optional(std::move(from)) : std::nullopt;
    }

private:
    void require(bool holds) { is_possible_ = is_possible_ && holds; }

    uint64_t number(const json& value, uint64_t most)
    {
        require(value.is_number_unsigned() && value.get<uint64_t>() <= most);
        return is_possible_ ? value.get<uint64_t>() : 0;
    }

    uint64_t tokens(const json& value) { return number(value, stream_tokens_); }

    double share(const json& value)
    {
        constexpr double most = 1 + 1e-6; // sums of shares are rounded
        const double number = value.get<double>();
        require(number >= 0 && number <= most);
        return number;
    }

    StreamRange range(const json& value)
    {
        const StreamRange range{tokens(value.at(0)), tokens(value.at(1))};
        require(range.first <= range.last);
        return range;
    }

    static constexpr size_t most_sources = 256; // far more than are ever read again

    const uint64_t stream_tokens_;
    bool is_possible_ = true;
};

// Absent if it is damaged or impossible.
std::optional<Provenance> provenance_in(const std::string& data, int64_t hash, uint64_t stream_tokens)
try {
    if (hash_of(data) != hash) return std::nullopt;
    return Reader(stream_tokens).read(data);
} catch (const json::exception&) { // not what put() writes
    return std::nullopt;
}

} // namespace

void Provenances::put(int64_t answer, const Provenance& provenance)
{
    const std::string data = data_of(provenance);
    db_.in_transaction([&] {
        auto insert = db_.statement("INSERT OR REPLACE INTO provenance(message, data, hash) VALUES(?, ?, ?)");
        insert.bind(1, answer);
        insert.bind(2, data);
        insert.bind(3, hash_of(data));
        insert.exec();
        db_.count_written(data.size());
    });
}

void Provenances::copy(int64_t from, int64_t to)
{
    auto insert = db_.statement("INSERT INTO provenance(message, data, hash) "
                                "SELECT ?, data, hash FROM provenance WHERE message = ?");
    insert.bind(1, to);
    insert.bind(2, from);
    insert.exec();
}

Provenances::Read Provenances::read(int64_t session, uint64_t stream_tokens)
{
    return db_.guarded([&] {
        Read read;
        auto query = db_.statement("SELECT message, data, provenance.hash FROM provenance "
                                   "JOIN messages ON messages.id = message WHERE session = ?");
        query.bind(1, session);
        while (query.executeStep()) {
            std::optional<Provenance> one;
            if (query.getColumn(1).getBytes() <= most_bytes)
                one = provenance_in(query.getColumn(1).getString(), query.getColumn(2).getInt64(), stream_tokens);
            if (one)
                read.all.emplace(query.getColumn(0).getInt64(), std::move(*one));
            else
                read.left_out.push_back(query.getColumn(0).getInt64());
        }
        return read;
    });
}

std::map<int64_t, Provenance> Provenances::of(int64_t session, uint64_t stream_tokens)
{
    return read(session, stream_tokens).all;
}

size_t Provenances::count_left_out(int64_t session, uint64_t stream_tokens)
{
    return read(session, stream_tokens).left_out.size();
}

size_t Provenances::remove_left_out(int64_t session, uint64_t stream_tokens)
{
    const auto damaged = read(session, stream_tokens).left_out;
    db_.in_transaction([&] {
        for (const int64_t answer : damaged) {
            auto remove = db_.statement("DELETE FROM provenance WHERE message = ?");
            remove.bind(1, answer);
            remove.exec();
        }
    });
    return damaged.size();
}

} // namespace palimpsest::storage
