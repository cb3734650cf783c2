#include "ui/window/actions.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QMenuBar>
#include <QWidget>

#include "ui/base/icon.h"

namespace palimpsest::ui {
namespace {

struct Description {
    ActionId id;
    MenuId menu;
    // keys: shortcuts in Qt's portable notation, separated by '|'; may be empty.
    const char *text, *tip, *keys, *symbol;
    bool begins_group = false;
    QAction::MenuRole role = QAction::NoRole;
};

struct ActionWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::Actions)
public:
    static constexpr Description descriptions[] = {
        {ActionId::NewSession, MenuId::File, QT_TR_NOOP("&New session"),
         QT_TR_NOOP("Begin a session without a document"), "Ctrl+N", "new"},
        {ActionId::NewIncognito, MenuId::File, QT_TR_NOOP("New session that is not sa&ved"),
         QT_TR_NOOP("Begin a session of which nothing is written to the disk"), "Ctrl+Shift+N", "incognito"},
        {ActionId::OpenFiles, MenuId::File, QT_TR_NOOP("&Open a document…"),
         QT_TR_NOOP("Read text, Markdown or another document in a new session"), "Ctrl+O", "open", true},
        {ActionId::AddFolder, MenuId::File, QT_TR_NOOP("Add a &folder to the library…"),
         QT_TR_NOOP("Store all documents of a folder, to read and search them later"), "", ""},
        {ActionId::ImportSession, MenuId::File, QT_TR_NOOP("&Import a session…"),
         QT_TR_NOOP("Take in a session that was exported"), "", "import", true},
        {ActionId::ExportSession, MenuId::File, QT_TR_NOOP("&Export the session…"),
         QT_TR_NOOP("Write the session, with its text and its saved state, to one file"), "Ctrl+E", "export"},
        {ActionId::ShowSettings, MenuId::File, QT_TR_NOOP("&Settings…"),
         QT_TR_NOOP("Model folder, device, defaults, colours, and what is stored where"), "Ctrl+,", "settings",
         true, QAction::PreferencesRole},
        {ActionId::Quit, MenuId::File, QT_TR_NOOP("&Quit"),
         QT_TR_NOOP("Close the window; what was read so far is saved"), "Ctrl+Q", "", true, QAction::QuitRole},

        {ActionId::AskQuestion, MenuId::Session, QT_TR_NOOP("&Ask a question"),
         QT_TR_NOOP("Go to the field for questions"), "Ctrl+L", "chat"},
        {ActionId::Stop, MenuId::Session, QT_TR_NOOP("&Stop"),
         QT_TR_NOOP("Stop what runs now; what was read so far is kept"), "Esc", "stop"},
        {ActionId::Regenerate, MenuId::Session, QT_TR_NOOP("&Regenerate the answer"),
         QT_TR_NOOP("Answer the last question again; the earlier answer is kept beside it"), "Ctrl+R", "regenerate",
         true},
        {ActionId::Undo, MenuId::Session, QT_TR_NOOP("&Take the last question back"),
         QT_TR_NOOP("Forget the last question and its answer"), "Ctrl+Shift+Z", "undo"},
        {ActionId::GoOn, MenuId::Session, QT_TR_NOOP("&Go on reading"),
         QT_TR_NOOP("Open the session that is chosen in the library and read on where it stopped"), "Ctrl+G",
         "go-on", true},
        {ActionId::Rename, MenuId::Session, QT_TR_NOOP("Re&name"),
         QT_TR_NOOP("Give the session in the library another name"), "F2", "rename"},
        {ActionId::Duplicate, MenuId::Session, QT_TR_NOOP("&Duplicate"),
         QT_TR_NOOP("Make a second session that goes on from the same point"), "Ctrl+D", "duplicate"},
        {ActionId::Remove, MenuId::Session, QT_TR_NOOP("De&lete"),
         QT_TR_NOOP("Delete the session that is chosen in the library; it can be undone for some seconds"),
         "Ctrl+Delete", "delete", true},
        {ActionId::UndoRemoval, MenuId::Session, QT_TR_NOOP("&Undo the deletion"),
         QT_TR_NOOP("Bring back the session deleted last"), "Ctrl+Shift+Delete", "undo"},

        {ActionId::ShowChat, MenuId::View, QT_TR_NOOP("&Chat"), QT_TR_NOOP("Questions and answers"), "Alt+1",
         "chat"},
        {ActionId::ShowDocument, MenuId::View, QT_TR_NOOP("&Document"),
         QT_TR_NOOP("The text, shaded by what is still held of it"), "Alt+2", "document"},
        {ActionId::ShowOutline, MenuId::View, QT_TR_NOOP("&Outline"),
         QT_TR_NOOP("The sections of the text, with a note on each"), "Alt+3", "outline"},
        {ActionId::ShowCompare, MenuId::View, QT_TR_NOOP("Co&mpare"),
         QT_TR_NOOP("One document under two to four policies"), "Alt+4", "compare"},
        {ActionId::Find, MenuId::View, QT_TR_NOOP("&Find in the document"),
         QT_TR_NOOP("Look for words in the open document"), "Ctrl+F", "search", true},
        {ActionId::SearchLibrary, MenuId::View, QT_TR_NOOP("&Search the library"),
         QT_TR_NOOP("Look for words in all documents and sessions"), "Ctrl+Shift+F", "search"},
        {ActionId::LargerText, MenuId::View, QT_TR_NOOP("&Larger text"), QT_TR_NOOP("Make all text larger"),
         "Ctrl++|Ctrl+=", "", true},
        {ActionId::SmallerText, MenuId::View, QT_TR_NOOP("Smaller te&xt"), QT_TR_NOOP("Make all text smaller"),
         "Ctrl+-", ""},
        {ActionId::NormalText, MenuId::View, QT_TR_NOOP("&Usual text size"),
         QT_TR_NOOP("Text as large as the desktop has it"), "Ctrl+0", ""},
        {ActionId::FullScreen, MenuId::View, QT_TR_NOOP("Full scr&een"),
         QT_TR_NOOP("Use the whole screen, or leave it"), "F11", "", true},
        {ActionId::NextArea, MenuId::View, QT_TR_NOOP("&Next area"),
         QT_TR_NOOP("Go to the next area of the window"), "F6", ""},
        {ActionId::PreviousArea, MenuId::View, QT_TR_NOOP("&Previous area"), QT_TR_NOOP("Go to the area before"),
         "Shift+F6", ""},
        {ActionId::ResetLayout, MenuId::View, QT_TR_NOOP("&Reset the layout"),
         QT_TR_NOOP("Put all areas where they were at first"), "", ""},

        {ActionId::ChoosePolicy, MenuId::Policy, QT_TR_NOOP("&Choose a policy"),
         QT_TR_NOOP("What decides which tokens are kept, and how many"), "Ctrl+P", "policy"},
        {ActionId::ComparePolicies, MenuId::Policy, QT_TR_NOOP("Co&mpare policies"),
         QT_TR_NOOP("Read one document under two to four policies"), "Ctrl+Shift+C", "compare"},
        {ActionId::ExportMap, MenuId::Policy, QT_TR_NOOP("&Export the map…"),
         QT_TR_NOOP("Save the retained-token map as a picture or a table"), "Ctrl+Shift+E", "map", true},

        {ActionId::CommandPalette, MenuId::Help, QT_TR_NOOP("All &commands…"),
         QT_TR_NOOP("Find and run any command by its name"), "Ctrl+K", "palette"},
        {ActionId::KeyboardHelp, MenuId::Help, QT_TR_NOOP("&Keyboard"), QT_TR_NOOP("All keys and what they do"),
         "F1", "keyboard"},
        {ActionId::TakeTour, MenuId::Help, QT_TR_NOOP("&Tour"),
         QT_TR_NOOP("See on the sample what the program does"), "", "tour"},
        {ActionId::Privacy, MenuId::Help, QT_TR_NOOP("&Privacy"),
         QT_TR_NOOP("What is stored, and that nothing leaves this machine"), "", "incognito", true},
        {ActionId::About, MenuId::Help, QT_TR_NOOP("&About Palimpsest"), QT_TR_NOOP("Version and licences"), "",
         "info", false, QAction::AboutRole},
    };

    static constexpr const char* menus[] = {QT_TR_NOOP("&File"), QT_TR_NOOP("&Session"), QT_TR_NOOP("&View"),
                                            QT_TR_NOOP("&Policy"), QT_TR_NOOP("&Help")};
};

QList<QKeySequence> keys_of(const Description& description)
{
    QList<QKeySequence> keys;
    for (const QString& key : QString::fromLatin1(description.keys).split(u'|', Qt::SkipEmptyParts))
        keys.append(QKeySequence(key, QKeySequence::PortableText));
    return keys;
}

void collect(const QMenu& menu, QList<QAction*>& into)
{
    for (QAction* action : menu.actions()) {
        if (action->menu())
            collect(*action->menu(), into);
        else if (!action->isSeparator())
            into.append(action);
    }
}

// Returns the title of the menu that contains the action: `menu` or one of its submenus. Empty: none does.
QString place_in(const QMenu& menu, const QAction* wanted)
{
    for (const QAction* action : menu.actions()) {
        if (action == wanted) return menu.title().remove(u'&');
        QString within = action->menu() ? place_in(*action->menu(), wanted) : QString();
        if (!within.isEmpty()) return within;
    }
    return {};
}

} // namespace

Actions::Actions(QWidget* window) : QObject(window)
{
    for (const Description& description : ActionWords::descriptions) {
        auto* action = new QAction(ActionWords::tr(description.text), window);
        action->setObjectName(QString::fromUtf8(description.text).remove(u'&'));
        action->setStatusTip(ActionWords::tr(description.tip));
        action->setShortcuts(keys_of(description));
        action->setMenuRole(description.role);
        if (*description.symbol) action->setIcon(icon(description.symbol));
        window->addAction(action); // so that shortcuts also work while the menu bar is hidden
        all_[static_cast<size_t>(description.id)] = action;
    }
    (*this)[ActionId::FullScreen]->setCheckable(true);
    QCoreApplication::instance()->installEventFilter(this);
}

// A text field edits with some of these keys, as a terminal does (Ctrl+K). In this window, they trigger actions.
bool Actions::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride) return false;
    const auto* widget = qobject_cast<const QWidget*>(watched);
    if (!widget || widget->window() != parent()) return false;
    const QKeySequence pressed(static_cast<QKeyEvent*>(event)->keyCombination());
    for (const ActionId id : {ActionId::CommandPalette, ActionId::ExportSession, ActionId::ChoosePolicy})
        if ((*this)[id]->shortcuts().contains(pressed)) {
            event->ignore(); // so that Qt triggers the shortcut
            return true;
        }
    return false;
}

void Actions::on(ActionId id, std::function<void()> what)
{
    connect((*this)[id], &QAction::triggered, this, [what = std::move(what)] { what(); });
}

void Actions::fill(QMenuBar& bar)
{
    for (size_t i = 0; i < menus_.size(); ++i) {
        menus_[i] = bar.addMenu(ActionWords::tr(ActionWords::menus[i]));
        for (const Description& description : ActionWords::descriptions) {
            if (description.menu != static_cast<MenuId>(i)) continue;
            if (description.begins_group) menus_[i]->addSeparator();
            menus_[i]->addAction((*this)[description.id]);
        }
    }
}

QList<QAction*> Actions::in_menus() const
{
    QList<QAction*> result;
    for (const QMenu* menu : menus_)
        if (menu) collect(*menu, result);
    return result;
}

QString Actions::place(const QAction* action) const
{
    QString place;
    for (const QMenu* menu : menus_)
        if (menu && place.isEmpty()) place = place_in(*menu, action);
    return place;
}

QString plain_text(const QAction& action)
{
    QString text = action.text();
    text.remove(u'&');
    while (text.endsWith(u'…'))
        text.chop(1);
    return text;
}

QString key_text(const QAction& action)
{
    return action.shortcut().toString(QKeySequence::NativeText);
}

} // namespace palimpsest::ui
