#include "storage/passages/passage_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace palimpsest::storage {
namespace {

// A row's data: the length of the sum of all windows (f32), then for each window its scale (f32) and its numbers.
constexpr size_t number_bytes = sizeof(float);

template<class Value>
void put(std::vector<std::byte>& data, const Value* values, size_t count)
{
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    data.insert(data.end(), bytes, bytes + count * sizeof(Value));
}

float float_at(const std::byte* bytes)
{
    float value = 0;
    std::memcpy(&value, bytes, number_bytes);
    return value;
}

float length_of_sum(std::span<const float> windows, size_t width)
{
    std::vector<float> sum(width);
    for (size_t i = 0; i < windows.size(); ++i)
        sum[i % width] += windows[i];
    return std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0F));
}

std::vector<std::byte> packed(std::span<const float> windows, size_t width)
{
    std::vector<std::byte> data;
    const float length = length_of_sum(windows, width);
    put(data, &length, 1);
    std::vector<int8_t> numbers(width);
    for (size_t at = 0; at < windows.size(); at += width) {
        const auto window = windows.subspan(at, width);
        float largest = 0;
        for (const float number : window)
            largest = std::max(largest, std::abs(number));
        const float scale = largest / 127;
        for (size_t i = 0; i < width; ++i)
            numbers[i] = static_cast<int8_t>(scale > 0 ? std::lround(window[i] / scale) : 0);
        put(data, &scale, 1);
        put(data, numbers.data(), width);
    }
    return data;
}

float product(const std::byte* numbers, std::span<const float> question)
{
    const auto* n = reinterpret_cast<const int8_t*>(numbers);
    constexpr size_t lanes = 8; // sums that the compiler keeps in a vector
    float sums[lanes] = {};
    size_t i = 0;
    for (; i + lanes <= question.size(); i += lanes)
        for (size_t lane = 0; lane < lanes; ++lane)
            sums[lane] += static_cast<float>(n[i + lane]) * question[i + lane];
    for (; i < question.size(); ++i)
        sums[0] += static_cast<float>(n[i]) * question[i];
    return std::accumulate(std::begin(sums), std::end(sums), 0.0F);
}

// Calls `each` with the cosine of every window. A row of another size is damaged, and has none.
template<class Each>
void for_cosines(std::span<const std::byte> data, std::span<const float> question, const Each& each)
{
    const size_t window_bytes = number_bytes + question.size();
    if (question.empty() || data.size() < number_bytes + window_bytes ||
        (data.size() - number_bytes) % window_bytes != 0)
        return;
    for (size_t at = number_bytes; at < data.size(); at += window_bytes)
        each(float_at(&data[at]) * static_cast<double>(product(data.data() + at + number_bytes, question)));
}

Similarity similarity_of(std::span<const std::byte> data, std::span<const float> question)
{
    Similarity similarity{.best = -1, .mean = 0};
    double sum = 0;
    bool has_windows = false;
    for_cosines(data, question, [&](double cosine) {
        similarity.best = std::max(similarity.best, cosine);
        sum += cosine;
        has_windows = true;
    });
    if (!has_windows) return {};
    const float length = float_at(data.data());
    similarity.mean = length > 0 ? sum / length : 0;
    const bool is_finite = std::isfinite(similarity.best) && std::isfinite(similarity.mean);
    return is_finite ? similarity : Similarity();
}

// Valid as long as the column's row.
std::span<const std::byte> bytes_of(const SQLite::Column& column)
{
    return {static_cast<const std::byte*>(column.getBlob()), static_cast<size_t>(column.getBytes())};
}

void run(Database& db, const char* sql, int64_t document)
{
    auto statement = db.statement(sql);
    statement.bind(1, document);
    statement.exec();
}

} // namespace

int64_t PassageVectors::count(int64_t document, const std::string& encoder)
{
    return db_.guarded([&]() -> int64_t {
        auto query = db_.statement("SELECT passages FROM encoded_documents WHERE document = ? AND encoder = ?");
        query.bind(1, document);
        query.bind(2, encoder);
        return query.executeStep() ? query.getColumn(0).getInt64() : 0;
    });
}

void PassageVectors::append(int64_t document, const std::string& encoder, std::span<const float> windows,
                            size_t width)
{
    const int64_t index = count(document, encoder);
    if (index == 0) {
        run(db_, "DELETE FROM passage_vectors WHERE document = ?", document);
        run(db_, "DELETE FROM encoded_documents WHERE document = ?", document);
        auto begin = db_.statement("INSERT INTO encoded_documents(document, encoder, passages) VALUES(?, ?, 0)");
        begin.bind(1, document);
        begin.bind(2, encoder);
        begin.exec();
    }
    const std::vector<std::byte> data = packed(windows, width);
    auto insert = db_.statement("INSERT INTO passage_vectors(document, idx, data) VALUES(?, ?, ?)");
    insert.bind(1, document);
    insert.bind(2, index);
    insert.bindNoCopy(3, data.data(), static_cast<int>(data.size()));
    insert.exec();
    run(db_, "UPDATE encoded_documents SET passages = passages + 1 WHERE document = ?", document);
    db_.count_written(data.size());
}

void PassageVectors::compare(std::span<const int64_t> documents, const std::string& encoder,
                             std::span<const float> question, const Compared& each)
{
    db_.guarded([&] {
        for (const int64_t document : documents) {
            if (count(document, encoder) == 0) continue;
            auto query = db_.statement("SELECT idx, data FROM passage_vectors WHERE document = ? AND document IN "
                                       "(SELECT document FROM indexed_documents) ORDER BY idx");
            query.bind(1, document);
            while (query.executeStep())
                each(document, query.getColumn(0).getInt64(),
                     similarity_of(bytes_of(query.getColumn(1)), question));
        }
    });
}

std::vector<double> PassageVectors::windows(int64_t document, int64_t index, const std::string& encoder,
                                            std::span<const float> question)
{
    return db_.guarded([&] {
        std::vector<double> cosines;
        if (count(document, encoder) <= index) return cosines;
        auto query = db_.statement("SELECT data FROM passage_vectors WHERE document = ? AND idx = ?");
        query.bind(1, document);
        query.bind(2, index);
        if (query.executeStep())
            for_cosines(bytes_of(query.getColumn(0)), question, [&](double cosine) { cosines.push_back(cosine); });
        const bool are_finite =
            std::all_of(cosines.begin(), cosines.end(), [](double cosine) { return std::isfinite(cosine); });
        return are_finite ? cosines : std::vector<double>();
    });
}

} // namespace palimpsest::storage
