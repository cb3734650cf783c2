#include "storage/loss.h"

#include <algorithm>
#include <iterator>

#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

struct Detail {
    const char* table;
    Text sentence;
};
const std::vector<Detail>& details()
{
    static const std::vector<Detail> all{
        {"sections", Text("some headings of documents are lost")},
        {"pages", Text("some page numbers of documents are lost")},
        {"metadata", Text("some authors and languages of documents are lost")},
        {"library", Text("it is partly lost which documents the library keeps")},
        {"made_here", Text("some files will be stored again although their documents are there")},
        {"further_sources", Text("some further files of documents are lost")},
        {"notes", Text("some notes are lost")},
        {"provenance", Text("some places on which answers rest are lost")},
        {"settings", Text("some settings of the program may be lost")},
        {"sessions", Text("some sessions may be lost")},
        {"messages", Text("some messages may be lost")},
        {"documents", Text("some documents may be lost")},
        {"read_again", Text("it is partly lost which passages were read again")},
    };
    return all;
}

Text what_is_lost_of(const std::string& table)
{
    const auto detail =
        std::find_if(details().begin(), details().end(), [&](const Detail& known) { return known.table == table; });
    return detail == details().end() ? Text() : detail->sentence;
}

Text what_is_lost(const Loss& loss)
{
    const std::string name = printable(loss.name);
    switch (loss.part) {
    case LostPart::SessionSettings:
        return Text("its settings are lost, its text can be read");
    case LostPart::Stream:
        return Text("a part of its order is lost; it can be read, but not continued");
    case LostPart::Message:
        return loss.count == 1 ? Text("1 message is lost") : Text("{0} messages are lost", loss.count);
    case LostPart::DocumentEntry:
        return Text("the title of {0} is lost, its text is whole", name);
    case LostPart::DocumentText:
        return Text("the text of '{0}' is lost or has gaps; open its file again", name);
    case LostPart::DocumentTokens:
        return Text("of '{0}' only the text is left", name);
    case LostPart::Cache:
        return Text("its cache is lost, its text is read again");
    case LostPart::FadeRecord:
        return Text("the record of what faded is lost");
    case LostPart::Pin:
        return loss.count == 1 ? Text("1 pin is lost") : Text("{0} pins are lost", loss.count);
    case LostPart::Setting:
        return Text("the setting '{0}' is lost", name);
    case LostPart::Details:
        return what_is_lost_of(loss.name);
    }
    return {};
}

} // namespace

Text sentence_of(const Loss& loss)
{
    if (loss.session.empty()) return what_is_lost(loss);
    return Text("session '{0}': {1}", printable(loss.session), what_is_lost(loss));
}

std::vector<std::string> tables_of_details()
{
    std::vector<std::string> tables;
    for (const Detail& detail : details())
        tables.emplace_back(detail.table);
    return tables;
}

std::string name_of(LostPart part)
{
    static constexpr const char* names[] = {"settings",      "stream",          "message", "document entry",
                                            "document text", "document tokens", "cache",   "fade record",
                                            "pin",           "setting",         "details"};
    static_assert(std::size(names) == static_cast<size_t>(LostPart::Details) + 1);
    return names[static_cast<size_t>(part)];
}

} // namespace palimpsest::storage
