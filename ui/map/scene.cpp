#include "ui/map/scene.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

// Titles come from documents and are not trusted: removes line breaks, control characters and bidirectional
// overrides.
QString plain_title(const std::string& title)
{
    QString text = QString::fromStdString(title).simplified();
    text.removeIf(
        [](QChar c) { return c.category() == QChar::Other_Control || c.category() == QChar::Other_Format; });
    return text;
}

void add_sections(const DocumentPart& part, std::vector<MapSection>& sections)
{
    const bool opens_itself = !part.sections.empty() && part.sections.front().first_token == 0;
    if (!opens_itself) sections.push_back({part.range.first, plain_title(part.info.title)});
    for (const storage::Section& section : part.sections)
        sections.push_back({part.range.first + section.first_token, plain_title(section.title)});
}

} // namespace

MapMarks marks_of(const SessionFacts& facts)
{
    MapMarks marks;
    for (const DocumentPart& part : facts.documents)
        add_sections(part, marks.sections);
    std::stable_sort(marks.sections.begin(), marks.sections.end(),
                     [](const MapSection& a, const MapSection& b) { return a.first < b.first; });
    for (const storage::Pin& pin : facts.pins)
        marks.pins.push_back({pin.first, pin.last});
    if (!facts.documents.empty()) marks.outline = std::make_shared<const TextOutline>(outline_of(facts));
    return marks;
}

const MapSection* section_at(const std::vector<MapSection>& sections, uint64_t token)
{
    const auto next = std::upper_bound(sections.begin(), sections.end(), token,
                                       [](uint64_t t, const MapSection& s) { return t < s.first; });
    return next == sections.begin() ? nullptr : &*(next - 1);
}

MapScene MapScene::of(std::shared_ptr<const engine::RetentionMap> map, uint64_t length)
{
    MapScene scene;
    if (map) {
        scene.rows = MapRows(map->layers, map->kv_heads);
        scene.window = VisibleRange(std::max(length, map->tokens_seen));
        scene.map = std::move(map);
    }
    return scene;
}

} // namespace palimpsest::ui
