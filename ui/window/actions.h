// All actions of the window by id, each with its text, menu, shortcut, icon and status tip.
#pragma once

#include <QAction>
#include <QObject>
#include <QStringList>
#include <array>
#include <functional>

class QMenuBar;

namespace palimpsest::ui {

enum class ActionId {
    // File
    NewSession,
    NewIncognito,
    OpenFiles,
    AddFolder,
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
    ShowOutline,
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
    // The actions are children of `window`; their shortcuts work in all of it.
    explicit Actions(QWidget* window);

    QAction* operator[](ActionId id) const { return all_[static_cast<size_t>(id)]; }
    // Calls `what` whenever the action is triggered, as long as the window exists.
    void on(ActionId id, std::function<void()> what);
    QMenu* menu(MenuId id) const { return menus_[static_cast<size_t>(id)]; }
    // All actions of the menus, in menu order. Includes those that show docks and open recent files.
    QList<QAction*> in_menus() const;
    // Title of the menu that contains the action, without mnemonics. Empty: no menu does.
    QString place(const QAction* action) const;

    void fill(QMenuBar& bar);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    std::array<QAction*, static_cast<size_t>(ActionId::Count)> all_{};
    std::array<QMenu*, static_cast<size_t>(MenuId::Count)> menus_{};
};

// The action's text without mnemonics and the trailing "…".
QString plain_text(const QAction& action);
// The shortcut in the desktop's notation, such as "Ctrl+K"; empty: none.
QString key_text(const QAction& action);

} // namespace palimpsest::ui
