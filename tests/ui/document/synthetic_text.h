// A stream of any length that is generated while it is read and stored nowhere.
#pragma once

#include <memory>

#include "ui/document/page_readers.h"
#include "ui/document/text_source.h"

namespace palimpsest::tests {

// Prose in lines of about a dozen words, with a chapter every 50,000 tokens. Each chapter has one paragraph of
// thousands of words without a line end, and tokens that are single bytes of a longer character.
struct SyntheticText {
    uint64_t tokens = 10'000'000;

    static uint64_t mixed(uint64_t x)
    {
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31);
    }
    // Returns the text of the token at stream index `at`. The document begins at 1.
    std::string text(uint64_t at) const
    {
        static constexpr const char* parts[] = {"an", "river", "light", "to",   "keeper", "storm",
                                                "of", "chron", "icle",  "harb", "our",    "salt"};
        const uint64_t within = at % 50'000;
        if (within == 1) return "Chapter";
        if (within == 2) return " " + std::to_string(at / 50'000) + "\n\n";
        if (within == 10) return "\xC2\xA0\xE3\x80\x80"; // spaces of two and three bytes
        if (within >= 30'000 && within < 30'003)
            return std::string(1, "\xE2\x82\xAC"[within - 30'000]); // a euro sign
        const bool endless = within >= 20'000 && within < 29'000;
        if (!endless && mixed(at) % 13 == 0) return ".\n";
        const uint64_t word = mixed(at * 7 + 1);
        return (word % 3 == 0 ? "" : " ") + std::string(parts[word / 3 % 12]);
    }
    ui::TextOutline outline() const
    {
        ui::TextOutline outline{.tokens = tokens, .parts = {}, .headings = {}};
        outline.parts = {{.range = {0, 1}},
                         {.range = {1, tokens}, .kind = ui::PartKind::Document, .id = 1, .title = "Made up"}};
        for (uint64_t at = 1; at < tokens; at += 50'000)
            outline.headings.push_back({.title = QStringLiteral("Chapter %1").arg(at / 50'000), .token = at});
        return outline;
    }
    std::shared_ptr<ui::TextSource> source() const;
};

class SyntheticPages : public ui::PageReader {
public:
    explicit SyntheticPages(SyntheticText text) : text_(text) {}
    ui::TextPage read(uint64_t first, uint64_t count) override
    {
        ui::TextPage page{.first = first, .text = {}, .ends = {}};
        for (uint64_t at = first; at < std::min(first + count, text_.tokens); ++at) {
            if (at > 0) page.text += text_.text(at);
            page.ends.push_back(static_cast<uint32_t>(page.text.size()));
        }
        return page;
    }
    ui::StreamRange tokens_of(const ui::TextPart& document, ui::ByteRange bytes) override
    {
        ui::StreamRange tokens = document.range;
        uint64_t end = 0;
        for (uint64_t at = document.range.first; at < document.range.last && end < bytes.last; ++at) {
            end += text_.text(at).size();
            if (end <= bytes.first) tokens.first = at + 1;
            tokens.last = at + 1;
        }
        return tokens;
    }

private:
    SyntheticText text_;
};

inline std::shared_ptr<ui::TextSource> SyntheticText::source() const
{
    return std::make_shared<ui::TextSource>(outline(),
                                            [text = *this] { return std::make_unique<SyntheticPages>(text); });
}

// One document of these tokens, without framing.
inline std::shared_ptr<ui::TextSource> source_of(const std::vector<std::string>& tokens)
{
    ui::TextOutline outline{.tokens = tokens.size(), .parts = {}, .headings = {}};
    outline.parts = {{.range = {0, tokens.size()}, .kind = ui::PartKind::Document, .id = 1, .title = "Words"}};
    ui::PartText part;
    for (const std::string& token : tokens) {
        part.text += token;
        part.ends.push_back(part.text.size());
    }
    auto texts = std::make_shared<ui::MemoryPages::Texts>();
    texts->emplace(0, std::move(part));
    return std::make_shared<ui::TextSource>(outline,
                                            [=] { return std::make_unique<ui::MemoryPages>(outline, texts); });
}

} // namespace palimpsest::tests
