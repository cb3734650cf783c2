// The context menu of a turn of the chat: its actions, and the code, sources and links in it.
#pragma once

#include <QMenu>
#include <functional>

#include "ui/chat/turn_list.h"

namespace palimpsest::ui {

class TurnMenu : public QMenu {
    Q_OBJECT
public:
    struct Contents {
        const TurnList& turns;
        int turn;
        const MessageLayout& layout; // of the turn
        bool has_selection;
        std::function<QString(StreamRange)> place_name;
    };

    // Reads `contents` only while it is constructed.
    TurnMenu(const Contents& contents, QWidget* parent);

Q_SIGNALS:
    void action_wanted(palimpsest::ui::TurnAction action);
    void copy_wanted(const QString& text);
    void copy_selection_wanted(bool markdown);
    void select_wanted(); // select the whole turn
    void lines_wanted();  // show all lines of long texts
    void source_wanted(int source);
    void link_wanted(const QString& address);

private:
    void add_selection();
    void add_actions(const Contents& contents);
    void add_texts(const MessageLayout& layout);
    void add_sources(const Contents& contents);
    void add_links(const QStringList& links);
};

} // namespace palimpsest::ui
