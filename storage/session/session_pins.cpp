#include "storage/session/session_pins.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

using engine::TokenRange;

// The parts of a range that no pin covers.
std::vector<TokenRange> uncovered(const TokenRange& range, const std::vector<Pin>& pins)
{
    std::vector<TokenRange> taken;
    taken.reserve(pins.size());
    for (const Pin& pin : pins)
        taken.push_back({static_cast<uint32_t>(pin.first), static_cast<uint32_t>(pin.last)});
    const engine::Pins joined(std::move(taken));
    std::vector<TokenRange> free;
    uint32_t from = range.first;
    for (const TokenRange& t : joined.ranges()) {
        if (t.first > from && from < range.last) free.push_back({from, std::min(t.first, range.last)});
        from = std::max(from, t.last);
    }
    if (from < range.last) free.push_back({from, range.last});
    return free;
}

engine::Pins set_by(const std::vector<Pin>& pins, uint64_t position)
{
    std::vector<TokenRange> ranges;
    for (const Pin& pin : pins)
        if (pin.since <= position)
            ranges.push_back({static_cast<uint32_t>(pin.first), static_cast<uint32_t>(pin.last)});
    return engine::Pins(std::move(ranges));
}

} // namespace

SessionPins::SessionPins(Store& store, int64_t session)
    : store_(store), session_(session), pins_(store.conversations.pins(session))
{
}

void SessionPins::apply(engine::Session& session) const
{
    if (!pins_.empty() || !session.pins().empty()) session.set_pins(set_by(pins_, session.tokens_seen()));
}

uint64_t SessionPins::next(uint64_t position) const
{
    uint64_t next = UINT64_MAX;
    for (const Pin& pin : pins_)
        if (pin.since > position) next = std::min(next, pin.since);
    return next;
}

SessionPins::Change SessionPins::look_for(const std::vector<std::string>& requests, bool all_must_be_there,
                                          const std::vector<StreamPart>& stream,
                                          const engine::Session& session) const
{
    PinSearch search(requests, session.model());
    for (const StreamPart& part : stream)
        if (search.needs_text()) push(search, part);
    const uint64_t there = tokens_of(stream);
    const uint64_t tokens = there > 0 ? there : UINT64_MAX; // before anything was read, its end is not known
    if (all_must_be_there) search.refuse_missing(tokens, Text("the session"));
    auto found = search.found(tokens);
    Change change{.pins = with(found, session.tokens_seen()), .missing = {}, .notes = {}};
    session.check_pins(set_by(change.pins, session.tokens_seen()));
    if (!all_must_be_there) {
        change.missing = search.missing(tokens);
        for (FoundPin& pin : found)
            pin.is_cut = false; // the rest is pinned when its text follows
    }
    change.notes = notes_about(found, tokens);
    return change;
}

void SessionPins::store(const Change& change)
{
    store_.conversations.set_pins(session_, change.pins);
}

void SessionPins::take(Change change, engine::Session& session)
{
    pins_ = std::move(change.pins);
    apply(session);
}

void SessionPins::push(PinSearch& search, const StreamPart& part) const
{
    constexpr uint64_t at_once = 65536;
    if (const StreamDocument* document = document_in(part)) {
        for (uint64_t first = 0; first < document->tokens; first += at_once)
            search.push(store_.library.ids(document->id, first, std::min(at_once, document->tokens - first)));
    } else if (const StreamMessage* message = message_in(part)) {
        const auto stored = message->id ? store_.conversations.message(*message->id) : std::nullopt;
        if (stored) search.push(stored->ids);
    } else {
        search.push(framing_in(part)->ids);
    }
}

std::vector<Pin> SessionPins::with(const std::vector<FoundPin>& found, uint64_t since) const
{
    std::vector<Pin> pins = pins_;
    for (const FoundPin& pin : found)
        for (const TokenRange& range : pin.ranges)
            for (const TokenRange& piece : uncovered(range, pins))
                pins.push_back({.first = piece.first, .last = piece.last, .since = since, .label = pin.label});
    std::sort(pins.begin(), pins.end(), [](const Pin& a, const Pin& b) { return a.first < b.first; });
    return pins;
}

SessionPins::Change SessionPins::with(const TokenRange& range, const std::string& label, uint64_t tokens,
                                      const engine::Session& session) const
{
    refuse_beyond({&range, 1}, label, tokens, Text("the session"));
    const TokenRange known{range.first, static_cast<uint32_t>(std::min<uint64_t>(range.last, tokens))};
    Change change{
        .pins = with({{.label = label, .ranges = {known}}}, session.tokens_seen()), .missing = {}, .notes = {}};
    session.check_pins(set_by(change.pins, session.tokens_seen()));
    return change;
}

SessionPins::Change SessionPins::without(const TokenRange& range) const
{
    Change change;
    for (const Pin& pin : pins_) {
        const auto keep = [&](uint64_t first, uint64_t last) {
            if (first < last)
                change.pins.push_back({.first = first, .last = last, .since = pin.since, .label = pin.label});
        };
        keep(pin.first, std::min<uint64_t>(pin.last, range.first));
        keep(std::max<uint64_t>(pin.first, range.last), pin.last);
    }
    return change;
}

void SessionPins::go_back(uint64_t tokens, const TokenRange& taken_back)
{
    pins_ = without(taken_back).pins;
    for (Pin& pin : pins_)
        pin.since = std::min(pin.since, tokens);
}

void SessionPins::drop_after(uint64_t tokens)
{
    std::erase_if(pins_, [&](const Pin& pin) { return pin.since > tokens; });
    store_.conversations.set_pins(session_, pins_);
}

} // namespace palimpsest::storage
