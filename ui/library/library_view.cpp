#include "ui/library/library_view.h"

#include <QAction>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTimer>
#include <QTreeView>
#include <QVBoxLayout>

#include "ui/base/clear_button.h"
#include "ui/base/icon.h"
#include "ui/base/quantity.h"
#include "ui/base/two_line_delegate.h"
#include "ui/library/search_model.h"

namespace palimpsest::ui {
namespace {

constexpr int pause_in_typing_ms = 300;
constexpr int min_searched = 2; // characters; a single one would match almost everything

// A label with a button, as wide as the library.
struct Bar {
    QWidget* widget;
    QLabel* text;
    QPushButton* button;
};

Bar make_bar(const char* symbol, const QString& button, QWidget* parent)
{
    auto* widget = new QFrame(parent);
    widget->setFrameShape(QFrame::StyledPanel);
    auto* row = new QHBoxLayout(widget);
    auto* text = new QLabel(widget);
    text->setWordWrap(true);
    text->setTextFormat(Qt::PlainText);
    auto* push = new QPushButton(icon(symbol), button, widget);
    row->addWidget(text, 1);
    row->addWidget(push);
    widget->hide();
    return {widget, text, push};
}

// Escape clears the field; while it is empty, the window handles that key.
class SearchField : public QLineEdit {
public:
    using QLineEdit::QLineEdit;

protected:
    bool event(QEvent* event) override
    {
        const bool is_key = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
        if (!is_key || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape || text().isEmpty())
            return QLineEdit::event(event);
        if (event->type() == QEvent::KeyPress) clear();
        event->accept();
        return true;
    }
};

void set_up(QAbstractItemView& view, const TwoLineRoles& roles, const QString& name)
{
    view.setItemDelegate(new TwoLineDelegate(roles, &view));
    view.setAccessibleName(name);
    view.setFrameShape(QFrame::NoFrame);
    view.setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    view.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

QStringList local_files(const QMimeData& data)
{
    QStringList files;
    for (const QUrl& url : data.urls())
        if (url.isLocalFile()) files.append(url.toLocalFile());
    return files;
}

} // namespace

LibraryView::LibraryView(const Choice& choice, QWidget* parent)
    : QWidget(parent), model_(new LibraryModel(this)), shown_(new QSortFilterProxyModel(this)),
      hits_(new SearchModel(this)), reader_(choice.database), removals_(choice.grace_ms)
{
    setAccessibleName(tr("Library"));
    setAcceptDrops(true);
    setMinimumWidth(fontMetrics().averageCharWidth() * 28);
    shown_->setSourceModel(model_);
    shown_->setRecursiveFilteringEnabled(true);
    shown_->setAutoAcceptChildRows(true);
    shown_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    build();
    connect_all();
    reader_.refresh();
}

LibraryView::~LibraryView() = default;

void LibraryView::build()
{
    pages_ = new QStackedWidget(this);
    pages_->addWidget(build_tree());
    pages_->addWidget(build_empty());
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(build_search());
    column->addWidget(pages_, 3);
    column->addWidget(build_hits(), 2);
    column->addWidget(build_footer());
    update_page();
}

QWidget* LibraryView::build_search()
{
    search_ = new SearchField(this);
    search_->setPlaceholderText(tr("Search names and texts"));
    search_->setAccessibleName(tr("Search the library"));
    search_->setAccessibleDescription(
        tr("Names are filtered while you type; all documents and messages are searched as well"));
    add_clear_button(*search_);
    search_->addAction(icon("search"), QLineEdit::LeadingPosition)->setText(search_->accessibleName());
    pause_ = new QTimer(this);
    pause_->setSingleShot(true);
    pause_->setInterval(pause_in_typing_ms);
    return search_;
}

QWidget* LibraryView::build_tree()
{
    tree_ = new QTreeView(this);
    set_up(*tree_, {.detail = LibraryModel::DetailRole}, tr("Documents and sessions"));
    tree_->setModel(shown_);
    tree_->setHeaderHidden(true);
    tree_->setIndentation(fontMetrics().height());
    tree_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    tree_->setContextMenuPolicy(Qt::CustomContextMenu);
    tree_->setExpandsOnDoubleClick(false);
    return tree_;
}

QWidget* LibraryView::build_hits()
{
    found_ = new QWidget(this);
    found_title_ = new QLabel(found_);
    found_title_->setWordWrap(true);
    found_title_->setMargin(fontMetrics().height() / 4);
    found_title_->setTextFormat(Qt::PlainText);
    found_list_ = new QListView(found_);
    set_up(*found_list_, {SearchModel::OriginRole, SearchModel::FirstRole, SearchModel::CountRole},
           tr("Found in texts"));
    found_list_->setModel(hits_);
    found_list_->setUniformItemSizes(true);
    auto* column = new QVBoxLayout(found_);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(found_title_);
    column->addWidget(found_list_, 1);
    found_->hide();
    return found_;
}

QWidget* LibraryView::build_empty()
{
    auto* empty = new QWidget(this);
    auto* text = new QLabel(tr("Nothing has been read yet. Drop a document here, or open one: it is read once, and "
                               "can be asked about from then on."),
                            empty);
    text->setWordWrap(true);
    auto* open = new QPushButton(icon("open"), tr("Open a document…"), empty);
    connect(open, &QPushButton::clicked, this, &LibraryView::open_files_wanted);
    auto* column = new QVBoxLayout(empty);
    column->addWidget(text);
    column->addWidget(open, 0, Qt::AlignLeading);
    column->addStretch();
    return empty;
}

QWidget* LibraryView::build_footer()
{
    auto* footer = new QWidget(this);
    const Bar go_on = make_bar("go-on", tr("Go on"), footer), undo = make_bar("undo", tr("Undo"), footer);
    go_on_bar_ = go_on.widget, go_on_text_ = go_on.text, go_on_ = go_on.button;
    undo_bar_ = undo.widget, undo_text_ = undo.text, undo_ = undo.button;
    undo_->setAccessibleName(tr("Undo the deletion"));
    auto* column = new QVBoxLayout(footer);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(go_on_bar_);
    column->addWidget(undo_bar_);
    return footer;
}

void LibraryView::connect_all()
{
    connect(&reader_, &LibraryReader::contents_read, this, &LibraryView::show_contents);
    connect(&reader_, &LibraryReader::hits_found, hits_, &SearchModel::add);
    connect(&reader_, &LibraryReader::search_progressed, this, &LibraryView::show_progress);
    connect(&reader_, &LibraryReader::failed, this, &LibraryView::failed);
    connect(model_, &LibraryModel::rename_wanted, this, &LibraryView::rename_wanted);
    connect(&removals_, &PendingRemovals::remove_wanted, this, [this](qint64 session) {
        const QString name = model_->name_of(session);
        if (!name.isEmpty()) Q_EMIT remove_wanted(name);
    });
    connect(&removals_, &PendingRemovals::changed, this, [this] {
        model_->set_hidden(removals_.hidden());
        expand_again();
        update_page();
        update_footer();
        Q_EMIT current_changed(); // the available actions changed
    });
    connect(search_, &QLineEdit::textChanged, this, &LibraryView::search_changed);
    connect(pause_, &QTimer::timeout, this, &LibraryView::search_texts);
    connect(tree_, &QTreeView::activated, this, &LibraryView::activate);
    connect(tree_, &QTreeView::customContextMenuRequested, this, &LibraryView::show_menu);
    connect(tree_, &QTreeView::collapsed, this,
            [this](const QModelIndex& index) { collapsed_.insert(index.data(LibraryModel::KeyRole).toString()); });
    connect(tree_, &QTreeView::expanded, this,
            [this](const QModelIndex& index) { collapsed_.remove(index.data(LibraryModel::KeyRole).toString()); });
    connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this] {
        update_footer();
        Q_EMIT current_changed();
    });
    connect(found_list_, &QListView::activated, this, [this](const QModelIndex& index) {
        SearchHit hit = hits_->hit(index);
        const QString name = model_->name_of(hit.session_id); // the session may have been renamed since
        if (!name.isEmpty()) hit.session = name;
        Q_EMIT hit_activated(hit, search_->text().trimmed());
    });
    connect(go_on_, &QPushButton::clicked, this, [this] { Q_EMIT open_wanted(current_session()); });
    connect(undo_, &QPushButton::clicked, this, &LibraryView::undo_removal);

    auto* remove_key = new QAction(tr("Delete"), tree_);
    remove_key->setShortcut(QKeySequence::Delete);
    remove_key->setShortcutContext(Qt::WidgetShortcut);
    connect(remove_key, &QAction::triggered, this, [this] { remove(current_session()); });
    tree_->addAction(remove_key);
}

void LibraryView::show_contents(const std::shared_ptr<const LibraryContents>& contents)
{
    const QString kept = current().data(LibraryModel::KeyRole).toString();
    QSet<qint64> stored;
    for (const LibraryDocument& document : contents->documents)
        for (const LibrarySession& session : document.sessions)
            stored.insert(session.id);
    removals_.drop_missing(stored);
    model_->set_hidden(removals_.hidden());
    model_->set_contents(contents);
    read_once_ = true;
    expand_again();
    if (!current().isValid() && !kept.isEmpty()) {
        const auto found = shown_->match(shown_->index(0, 0), LibraryModel::KeyRole, kept, 1,
                                         Qt::MatchExactly | Qt::MatchRecursive);
        if (!found.isEmpty()) tree_->setCurrentIndex(found.first());
    }
    update_page();
    update_footer();
}

void LibraryView::expand_again()
{
    for (int row = 0; row < shown_->rowCount(); ++row) {
        const QModelIndex index = shown_->index(row, 0);
        const bool open = !collapsed_.contains(index.data(LibraryModel::KeyRole).toString());
        if (tree_->isExpanded(index) != open) tree_->setExpanded(index, open);
    }
}

void LibraryView::set_open_session(const QString& name, bool computes)
{
    model_->set_open_session(name, computes);
    if (current_session().isEmpty() && !name.isEmpty()) choose(name);
    update_footer();
}

QModelIndex LibraryView::current() const
{
    return shown_->mapToSource(tree_->currentIndex());
}

QString LibraryView::current_session() const
{
    return current().data(LibraryModel::SessionRole).toString();
}

void LibraryView::focus_search()
{
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
}

void LibraryView::rename_current()
{
    if (current_session().isEmpty()) return;
    tree_->setFocus(Qt::ShortcutFocusReason);
    tree_->edit(tree_->currentIndex());
}

void LibraryView::remove(const QString& session)
{
    if (const LibrarySession* found = model_->session(model_->index_of(session))) removals_.add(found->id);
}

void LibraryView::undo_removal()
{
    const qint64 session = removals_.undo();
    if (session == 0) return;
    choose(model_->name_of(session));
    tree_->setFocus(Qt::OtherFocusReason);
}

void LibraryView::choose(const QString& session)
{
    const QModelIndex at = shown_->mapFromSource(model_->index_of(session));
    if (at.isValid()) tree_->setCurrentIndex(at);
}

void LibraryView::activate(const QModelIndex& index)
{
    const QString session = index.data(LibraryModel::SessionRole).toString();
    if (session.isEmpty())
        tree_->setExpanded(index, !tree_->isExpanded(index));
    else
        Q_EMIT open_wanted(session);
}

void LibraryView::search_changed(const QString& text)
{
    shown_->setFilterFixedString(text.trimmed());
    expand_again();
    reader_.search({});
    hits_->clear();
    const bool searches = text.trimmed().size() >= min_searched;
    found_->setVisible(searches);
    if (!searches) return pause_->stop();
    found_title_->setText(tr("Searching what was read and said …"));
    pause_->start();
}

void LibraryView::search_texts()
{
    reader_.search(search_->text());
}

// Shows how much was searched, so that a partial result does not look complete.
void LibraryView::show_progress(const SearchProgress& progress)
{
    const QString hits = progress.has_all_hits
                             ? tr("%n place(s) found", nullptr, static_cast<int>(progress.hits))
                             : tr("The first %n place(s)", nullptr, static_cast<int>(progress.hits));
    const QString where = progress.is_done
                              ? tr("in all %1 documents and sessions").arg(count_text(progress.texts))
                              : tr("%1 of %2 documents and sessions searched")
                                    .arg(count_text(progress.texts_searched), count_text(progress.texts));
    QString text = tr("%1, %2").arg(hits, where);
    if (progress.texts_unreadable > 0)
        text += u' ' + tr("(%n damaged text(s) left out)", nullptr, static_cast<int>(progress.texts_unreadable));
    found_title_->setText(text);
    found_list_->setAccessibleDescription(text);
}

void LibraryView::update_page()
{
    pages_->setCurrentIndex(read_once_ && model_->is_empty() && removals_.newest() == 0 ? 1 : 0);
}

void LibraryView::update_footer()
{
    const QModelIndex index = current();
    const bool goes_on = index.data(LibraryModel::UnfinishedRole).toBool();
    go_on_bar_->setVisible(goes_on);
    if (goes_on) {
        const QString name = current_session();
        go_on_text_->setText(tr("“%1” was not read to its end.").arg(name));
        go_on_->setAccessibleName(tr("Go on with %1").arg(name));
    }
    const QString removed = model_->name_of(removals_.newest());
    undo_bar_->setVisible(!removed.isEmpty());
    if (!removed.isEmpty()) undo_text_->setText(tr("“%1” was deleted.").arg(removed));
}

void LibraryView::show_menu(const QPoint& at)
{
    QMenu menu(this);
    fill_menu(menu, shown_->mapToSource(tree_->indexAt(at)));
    menu.exec(tree_->viewport()->mapToGlobal(at));
}

void LibraryView::fill_menu(QMenu& menu, const QModelIndex& index)
{
    const auto add = [&](const char* symbol, const QString& text, auto what) {
        connect(menu.addAction(icon(symbol), text), &QAction::triggered, this, what);
    };
    const QString session = index.data(LibraryModel::SessionRole).toString();
    if (!session.isEmpty()) {
        const bool goes_on = index.data(LibraryModel::UnfinishedRole).toBool();
        add("go-on", goes_on ? tr("&Go on reading") : tr("&Open"),
            [this, session] { Q_EMIT open_wanted(session); });
        add("rename", tr("&Rename"), [this] { rename_current(); });
        add("duplicate", tr("&Duplicate"), [this, session] { Q_EMIT duplicate_wanted(session); });
        add("export", tr("&Export…"), [this, session] { Q_EMIT export_wanted(session); });
        menu.addSeparator();
        add("delete", tr("D&elete"), [this, session] { remove(session); });
        return;
    }
    const QString source = index.data(LibraryModel::SourceRole).toString();
    if (QFileInfo(source).isFile())
        add("new", tr("&New session about this document"), [this, source] { Q_EMIT new_session_wanted({source}); });
    add("open", tr("&Open a document…"), [this] { Q_EMIT open_files_wanted(); });
    add("import", tr("&Import a session…"), [this] { Q_EMIT import_wanted(); });
}

void LibraryView::dragEnterEvent(QDragEnterEvent* event)
{
    if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void LibraryView::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    Q_EMIT files_dropped(local_files(*event->mimeData()));
}

} // namespace palimpsest::ui
