#include "storage/provenance.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "storage/conversations.h"
#include "storage/hash.h"

namespace palimpsest::storage {
namespace {

using nlohmann::json;

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
    if (const auto& quote = from.quote)
        all["quote"] = {{"text", quote->text},
                        {"place", quote->place},
                        {"tokens", json_of(quote->range)},
                        {"unsupported", quote->unsupported}};
    // A model's answer may end within a character.
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads what data_of() writes. Throws json::exception.
class Reader {
public:
    explicit Reader(uint64_t stream_tokens) : stream_tokens_(stream_tokens) {}

    std::optional<Provenance> read(const std::string& data)
    {
        const json all = json::parse(data);
        Provenance from{.tokens_in_input = all.at("tokens_in_input").get<uint64_t>(),
                        .tokens_read = all.at("tokens_read").get<uint64_t>(),
                        .budget = all.at("budget").get<int32_t>(),
                        .is_from_sources_alone = all.at("sources_alone").get<bool>()};
        for (const json& source : all.at("sources"))
            from.sources.push_back({.range = range_of(source.at("tokens")),
                                    .weight = source.at("weight").get<double>(),
                                    .held = source.at("held").get<double>(),
                                    .read_again = source.at("read_again").get<bool>()});
        if (const auto quote = all.find("quote"); quote != all.end())
            from.quote = QuotedSentence{.text = quote->at("text").get<std::string>(),
                                        .place = quote->at("place").get<std::string>(),
                                        .range = range_of(quote->at("tokens")),
                                        .unsupported = quote->at("unsupported").get<std::vector<std::string>>()};
        return is_beyond_ ? std::nullopt : std::optional(std::move(from));
    }

private:
    StreamRange range_of(const json& tokens)
    {
        const StreamRange range{tokens.at(0).get<uint64_t>(), tokens.at(1).get<uint64_t>()};
        if (range.first > range.last || range.last > stream_tokens_) is_beyond_ = true;
        return range;
    }

    const uint64_t stream_tokens_;
    bool is_beyond_ = false;
};

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

std::map<int64_t, Provenance> Provenances::of(int64_t session)
{
    uint64_t stream_tokens = 0;
    for (const StreamPart& part : Conversations(db_).stream(session))
        stream_tokens += tokens_of(part);
    return db_.guarded([&] {
        std::map<int64_t, Provenance> all;
        auto query = db_.statement("SELECT message, data, provenance.hash FROM provenance "
                                   "JOIN messages ON messages.id = message WHERE session = ?");
        query.bind(1, session);
        while (query.executeStep()) {
            const std::string data = query.getColumn(1).getString();
            if (hash_of(data) != query.getColumn(2).getInt64()) continue;
            try {
                if (auto read = Reader(stream_tokens).read(data))
                    all.emplace(query.getColumn(0).getInt64(), std::move(*read));
            } catch (const json::exception&) { // of a newer version
            }
        }
        return all;
    });
}

} // namespace palimpsest::storage
