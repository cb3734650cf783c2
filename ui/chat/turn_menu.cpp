#include "ui/chat/turn_menu.h"

#include <algorithm>

#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

constexpr qsizetype most_links = 20;

constexpr std::pair<TurnAction, int> keys[] = {
    {TurnAction::Earlier, Qt::Key_Left},   {TurnAction::Later, Qt::Key_Right},  {TurnAction::Copy, Qt::Key_C},
    {TurnAction::CopyMarkdown, Qt::Key_M}, {TurnAction::Regenerate, Qt::Key_R}, {TurnAction::Branch, Qt::Key_E},
    {TurnAction::ShowSources, Qt::Key_X},  {TurnAction::ShowQuote, Qt::Key_Q},
};

} // namespace

TurnMenu::TurnMenu(const Contents& contents, QWidget* parent) : QMenu(parent)
{
    setAccessibleName(tr("What can be done with this turn"));
    if (contents.has_selection) add_selection();
    add_actions(contents);
    add_texts(contents.layout);
    add_sources(contents);
    add_links(contents.layout.links());
}

void TurnMenu::add_selection()
{
    addAction(tr("Copy selected text"), QKeySequence::Copy, this, [this] { Q_EMIT copy_selection_wanted(false); });
    addAction(tr("Copy selected lines as Markdown"), this, [this] { Q_EMIT copy_selection_wanted(true); });
    addSeparator();
}

void TurnMenu::add_actions(const Contents& contents)
{
    for (const TurnAction action : contents.turns.actions(contents.turn)) {
        QAction* item = addAction(contents.turns.action_label(contents.turn, action), this,
                                  [this, action] { Q_EMIT action_wanted(action); });
        for (const auto& [known, key] : keys)
            if (known == action) item->setShortcut(QKeySequence(key));
    }
    addAction(tr("Select all of it"), QKeySequence::SelectAll, this, &TurnMenu::select_wanted);
}

void TurnMenu::add_texts(const MessageLayout& layout)
{
    const std::vector<TextPosition> codes = layout.code_places();
    for (size_t i = 0; i < codes.size() && i < sources_shown; ++i)
        addAction(tr("Copy code block %1").arg(i + 1), this,
                  [this, text = layout.code_at(codes[i])] { Q_EMIT copy_wanted(text); });
    if (!layout.collapsed_places().empty()) addAction(tr("Show all lines"), this, &TurnMenu::lines_wanted);
}

void TurnMenu::add_sources(const Contents& contents)
{
    const ChatEntry& entry = contents.turns[contents.turn];
    if (!entry.turn.provenance || entry.turn.provenance->sources.empty() || entry.growing) return;
    const std::vector<Provenance::Source>& all = entry.turn.provenance->sources;
    QMenu* sources = addMenu(tr("Sources"));
    for (size_t s = 0; s < std::min(sources_shown, all.size()); ++s) {
        const QString place = contents.place_name(all[s].range);
        QAction* item = sources->addAction(all[s].read_again ? tr("%1 (read again)").arg(place) : place, this,
                                           [this, s] { Q_EMIT source_wanted(static_cast<int>(s)); });
        item->setShortcut(QKeySequence(Qt::Key_1 + static_cast<int>(s)));
    }
}

void TurnMenu::add_links(const QStringList& links)
{
    if (links.isEmpty()) return;
    QMenu* list = addMenu(tr("Links"));
    for (qsizetype i = 0; i < std::min(links.size(), most_links); ++i)
        list->addAction(visible_address(links[i]).left(80).replace(QLatin1Char('&'), QStringLiteral("&&")), this,
                        [this, address = links[i]] { Q_EMIT link_wanted(address); });
}

} // namespace palimpsest::ui
