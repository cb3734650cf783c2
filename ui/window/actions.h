// Everything that can be done in the window, by name: text, place in the menus, key, symbol and one sentence.
#pragma once

#include <QAction>
#include <QObject>
#include <QStringList>
#include <array>

class QMenuBar;

namespace palimpsest::ui {

enum class ActionId {
    // File
    NewSession,
    NewIncognito,
    OpenFiles,
    ImportSession,
    ExportSession,
    ShowSettings,
    Quit,
    // Session
    AskQuestion,
    Stop,
    Regenerate,
    Undo,
    GoOn,
    Rename,
    Duplicate,
    Remove,
    UndoRemoval,
    // View
    ShowChat,
    ShowDocument,
    ShowCompare,
    Find,
    SearchLibrary,
    LargerText,
    SmallerText,
    NormalText,
    FullScreen,
    NextArea,
    PreviousArea,
    ResetLayout,
    // Policy
    ChoosePolicy,
    ComparePolicies,
    ExportMap,
    // Help
    CommandPalette,
    KeyboardHelp,
    TakeTour,
    About,
    Privacy,
    Count
};

enum class MenuId { File, Session, View, Policy, Help, Count };

class Actions : public QObject {
    Q_OBJECT
public:
    // The actions belong to `window`, where their keys work.
    explicit Actions(QWidget* window);

    QAction* operator[](ActionId id) const { return all_[static_cast<size_t>(id)]; }
    QMenu* menu(MenuId id) const { return menus_[static_cast<size_t>(id)]; }
    // Every action in the menus, those of docks and recent files as well, in the menus' order.
    QList<QAction*> in_menus() const;
    // The menu it is in, without mnemonics; empty: in none.
    QString place(const QAction* action) const;

    void fill(QMenuBar& bar);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    std::array<QAction*, static_cast<size_t>(ActionId::Count)> all_{};
    std::array<QMenu*, static_cast<size_t>(MenuId::Count)> menus_{};
};

// Without the marks of mnemonics and the dots of "more will be asked".
QString plain_text(const QAction& action);
// "Ctrl+K", as the desktop writes it; empty: none.
QString key_text(const QAction& action);

} // namespace palimpsest::ui
