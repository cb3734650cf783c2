// The baseline: an interpolated modified Kneser-Ney 5-gram model over the same token ids as the network.
//
//   g++ -O3 -march=native -std=c++20 -pthread kneser_ney.cpp -o kneser_ney
//   ./kneser_ney TRAIN.bin EVAL.bin WINDOW NLL.f32
//
// Both .bin files hold uint16 ids. For every id of EVAL the natural-log loss is written to NLL.f32. The history of
// a token is what lies before it in its window of WINDOW tokens (plain, non-overlapping windows); the first token
// of a window gets no score (NaN). The network is scored in exactly the same way (evaluate.py).
//
// A 5-gram of 13-bit ids needs 65 bits, so the contexts get dense numbers: context number of order n =
// rank of (context number of order n-1, id) among the distinct n-grams. Every table is then sorted 64-bit keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
constexpr int N = 5;

static std::vector<u16> read_ids(const char* path)
{
    std::ifstream f(path, std::ios::binary | std::ios::ate);
    if (!f) {
        perror(path);
        exit(1);
    }
    std::vector<u16> v(size_t(f.tellg()) / 2);
    f.seekg(0);
    f.read((char*)v.data(), v.size() * 2);
    return v;
}

static void sort_keys(std::vector<u64>& v)
{ // two threads
    auto mid = v.begin() + v.size() / 2;
    std::thread t([&] { std::sort(v.begin(), mid); });
    std::sort(mid, v.end());
    t.join();
    std::inplace_merge(v.begin(), mid, v.end());
}

// The distinct n-grams of one order. An n-gram is (context << 16 | id), the context being the dense number of its
// first n-1 ids in the table of order n-1.
struct Order {
    std::vector<u64> key;      // sorted
    std::vector<u32> count;    // raw count for the highest order, number of distinct left neighbours below it
    std::array<double, 3> d{}; // discounts for counts 1, 2 and more
    std::vector<u32> begin;    // by context: where its continuations begin
    std::vector<double> total; // by context: sum of counts
    std::vector<float> gamma;  // by context: mass left for the lower order
    size_t find(u64 k) const
    {
        u64 c = k >> 16;
        if (c + 1 >= begin.size()) return SIZE_MAX;
        auto a = key.begin() + begin[c], b = key.begin() + begin[c + 1];
        auto it = std::lower_bound(a, b, k);
        return it != b && *it == k ? size_t(it - key.begin()) : SIZE_MAX;
    }
};

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: kneser_ney TRAIN EVAL WINDOW NLL\n");
        return 2;
    }
    auto train = read_ids(argv[1]), eval = read_ids(argv[2]);
    size_t window = atol(argv[3]), n = train.size(), vocab = 8192;

    // Tables of all orders. state[i] = number of the (o-1)-gram that begins at i.
    std::array<Order, N + 1> order;
    std::vector<u32> state(n, 0);
    std::vector<u32> raw;
    for (int o = 1; o <= N; ++o) {
        Order& t = order[o];
        size_t m = n - o + 1;
        std::vector<u64> k(m);
        for (size_t i = 0; i < m; ++i)
            k[i] = u64(state[i]) << 16 | train[i + o - 1];
        auto own = k;
        sort_keys(k);
        for (size_t i = 0, j; i < m; i = j) {
            for (j = i; j < m && k[j] == k[i]; ++j)
                ;
            t.key.push_back(k[i]);
            if (o == N) t.count.push_back(j - i);
        }
        size_t contexts = o == 1 ? 1 : order[o - 1].key.size();
        t.begin.assign(contexts + 1, 0);
        for (u64 x : t.key)
            ++t.begin[(x >> 16) + 1];
        for (size_t c = 0; c < contexts; ++c)
            t.begin[c + 1] += t.begin[c];
        if (o > 1) { // distinct left neighbours of the (o-1)-gram at i+1: one for every distinct o-gram at i
            // state holds the (o-1)-gram numbers; visit each distinct o-gram once, at its first occurrence
            std::vector<bool> seen(t.key.size());
            order[o - 1].count.assign(order[o - 1].key.size(), 0);
            for (size_t i = 0; i < m; ++i) {
                size_t at = t.find(own[i]);
                if (!seen[at]) {
                    seen[at] = true;
                    ++order[o - 1].count[state[i + 1]];
                }
                own[i] = at;
            }
        } else
            for (size_t i = 0; i < m; ++i)
                own[i] = t.find(own[i]);
        for (size_t i = 0; i < m; ++i)
            state[i] = u32(own[i]);
        fprintf(stderr, "order %d: %zu distinct\n", o, t.key.size());
    }
    // Discounts (Chen and Goodman) and the mass left over in every context.
    for (int o = 1; o <= N; ++o) {
        Order& t = order[o];
        double c[5] = {};
        for (u32 x : t.count)
            if (x >= 1 && x <= 4) c[x]++;
        double y = c[1] / (c[1] + 2 * c[2]);
        for (int j = 1; j <= 3; ++j)
            t.d[j - 1] = j - (j + 1) * y * c[j + 1] / c[j];
        size_t contexts = t.begin.size() - 1;
        t.total.resize(contexts);
        t.gamma.resize(contexts);
        for (size_t x = 0; x < contexts; ++x) {
            double sum = 0, left = 0;
            for (u32 i = t.begin[x]; i < t.begin[x + 1]; ++i) {
                u32 q = t.count[i];
                sum += q;
                if (q) left += t.d[std::min(q, 3u) - 1];
            }
            t.total[x] = sum;
            t.gamma[x] = sum ? float(left / sum) : 1.f;
        }
        fprintf(stderr, "order %d: discounts %.4f %.4f %.4f\n", o, t.d[0], t.d[1], t.d[2]);
    }
    // Score.
    std::vector<float> nll(eval.size(), NAN);
    double sum = 0;
    size_t scored = 0;
    for (size_t i = 0; i < eval.size(); ++i) {
        size_t in_window = i % window;
        if (!in_window) continue;
        double p = 1.0 / vocab;
        for (int o = 1; o <= N && size_t(o - 1) <= in_window; ++o) {
            // number of the context: the o-1 ids before i
            u64 c = 0;
            bool known = true;
            for (int j = 1; j < o && known; ++j) {
                size_t at = order[j].find(c << 16 | eval[i - o + j]);
                known = at != SIZE_MAX;
                c = at;
            }
            if (!known) break;
            Order& t = order[o];
            if (t.total[c] == 0) continue;
            size_t at = t.find(c << 16 | eval[i]);
            double top = 0;
            if (at != SIZE_MAX) {
                u32 q = t.count[at];
                if (q) top = q - t.d[std::min(q, 3u) - 1];
            }
            p = top / t.total[c] + t.gamma[c] * p;
        }
        nll[i] = float(-std::log(p));
        sum -= std::log(p);
        ++scored;
    }
    std::ofstream(argv[4], std::ios::binary).write((char*)nll.data(), nll.size() * 4);
    printf("%.6f nats per token over %zu tokens\n", sum / scored, scored);
}
