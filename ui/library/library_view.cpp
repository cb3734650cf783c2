#include "ui/library/library_view.h"

#include <QAction>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTimer>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/base/icon.h"
#include "ui/base/two_line_delegate.h"
#include "ui/base/visible_text.h"
#include "ui/library/hits_panel.h"
#include "ui/library/notice_bar.h"
#include "ui/library/search_field.h"

namespace palimpsest::ui {
namespace {

constexpr int pause_in_typing_ms = 300;

// The words of `text` as a filter for names, which have to contain all of them, in any order.
QRegularExpression name_filter(const QString& text)
{
    constexpr qsizetype max_words = 16, max_characters = 200;
    QString pattern;
    const QStringList words =
        text.left(max_characters).split(QRegularExpression(QStringLiteral("[\\s\"]+")), Qt::SkipEmptyParts);
    for (const QString& word : words.first(std::min(words.size(), max_words)))
        pattern += QStringLiteral("(?=.*%1)").arg(QRegularExpression::escape(word));
    return QRegularExpression(u'^' + pattern, QRegularExpression::CaseInsensitiveOption |
                                                  QRegularExpression::DotMatchesEverythingOption);
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
      reader_(choice.database), removals_(choice.grace_ms)
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
    search_ = new SearchField(this);
    pause_ = new QTimer(this);
    pause_->setSingleShot(true);
    pause_->setInterval(pause_in_typing_ms);
    found_ = new HitsPanel(this);
    found_->hide();
    column->addWidget(search_);
    column->addWidget(pages_, 1);
    column->addWidget(found_, 3);
    column->addWidget(build_footer());
    update_page();
}

QWidget* LibraryView::build_tree()
{
    tree_ = new QTreeView(this);
    tree_->setItemDelegate(new TwoLineDelegate(LibraryModel::DetailRole, tree_));
    tree_->setAccessibleName(tr("Documents and sessions"));
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree_->setModel(shown_);
    tree_->setHeaderHidden(true);
    tree_->setIndentation(fontMetrics().height());
    tree_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    tree_->setContextMenuPolicy(Qt::CustomContextMenu);
    tree_->setExpandsOnDoubleClick(false);
    return tree_;
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
    go_on_bar_ = new NoticeBar("go-on", tr("Go on"), footer);
    undo_bar_ = new NoticeBar("undo", tr("Undo"), footer);
    undo_bar_->button().setAccessibleName(tr("Undo the deletion"));
    auto* column = new QVBoxLayout(footer);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(go_on_bar_);
    column->addWidget(undo_bar_);
    return footer;
}

void LibraryView::connect_all()
{
    connect(&reader_, &LibraryReader::contents_read, this, &LibraryView::show_contents);
    connect(&reader_, &LibraryReader::hits_found, found_, &HitsPanel::add);
    connect(&reader_, &LibraryReader::search_progressed, found_, &HitsPanel::show_progress);
    connect(&reader_, &LibraryReader::failed, found_, &HitsPanel::fail);
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
    connect(search_, &QLineEdit::returnPressed, this, [this] {
        if (pause_->isActive()) // what is typed was not searched for yet
            search_texts();
        else
            found_->open_current();
    });
    connect(search_, &SearchField::left_downwards, this,
            [this] { found_->has_hits() ? found_->focus_hits() : tree_->setFocus(Qt::TabFocusReason); });
    connect(found_, &HitsPanel::left_upwards, search_, [this] { search_->setFocus(Qt::BacktabFocusReason); });
    connect(found_, &HitsPanel::index_wanted, this, &LibraryView::index_wanted);
    connect(found_, &HitsPanel::hit_activated, this, [this](SearchHit hit) {
        const QString name = model_->name_of(hit.session_id); // the session may have been renamed since
        if (!name.isEmpty()) hit.session = name;
        Q_EMIT hit_activated(hit, search_->text().trimmed());
    });
    connect(&go_on_bar_->button(), &QPushButton::clicked, this, [this] { Q_EMIT open_wanted(current_session()); });
    connect(&undo_bar_->button(), &QPushButton::clicked, this, &LibraryView::undo_removal);

    auto* remove_key = new QAction(tr("Delete"), tree_);
    remove_key->setShortcut(QKeySequence::Delete);
    remove_key->setShortcutContext(Qt::WidgetShortcut);
    connect(remove_key, &QAction::triggered, this, [this] { remove(current_session()); });
    tree_->addAction(remove_key);
}

void LibraryView::show_contents(const std::shared_ptr<const LibraryContents>& contents)
{
    const QString kept = current().data(LibraryModel::KeyRole).toString();
    const LibrarySession* const chosen = model_->session(current());
    const qint64 kept_session = chosen ? chosen->id : 0;
    QSet<qint64> stored;
    for (const LibraryDocument& document : contents->documents)
        for (const LibrarySession& session : document.sessions)
            stored.insert(session.id);
    removals_.drop_missing(stored);
    model_->set_hidden(removals_.hidden());
    model_->set_contents(contents);
    read_once_ = true;
    expand_again();
    if (!current().isValid() && !kept.isEmpty()) choose_again(kept, kept_session);
    update_page();
    update_footer();
    arrange_pages();
    if (found_->waits_for_index() && search_->has_search()) search_texts(); // they may be indexed by now
}

// `session`: 0 for a document. A session is chosen below another document if it is no longer below the same one.
void LibraryView::choose_again(const QString& key, qint64 session)
{
    const auto found =
        shown_->match(shown_->index(0, 0), LibraryModel::KeyRole, key, 1, Qt::MatchExactly | Qt::MatchRecursive);
    if (!found.isEmpty())
        tree_->setCurrentIndex(found.first());
    else if (session != 0)
        choose(model_->name_of(session));
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
    if (!session.isEmpty()) return Q_EMIT open_wanted(session);
    const LibraryDocument* document = model_->document(shown_->mapToSource(index));
    if (document && document->sessions.empty()) return Q_EMIT session_about_wanted(document->ids.front());
    tree_->setExpanded(index, !tree_->isExpanded(index));
}

void LibraryView::search_changed(const QString& text)
{
    shown_->setFilterRegularExpression(name_filter(text));
    expand_again();
    reader_.search({});
    found_->begin();
    found_->setVisible(search_->has_search());
    arrange_pages();
    search_->has_search() ? pause_->start() : pause_->stop();
}

void LibraryView::search_texts()
{
    pause_->stop();
    found_->begin();
    reader_.search(search_->text(), model_->open_session());
}

// While texts are searched, names take no room if there are none.
void LibraryView::arrange_pages()
{
    pages_->setVisible(!search_->has_search() || shown_->rowCount() > 0);
}

void LibraryView::update_page()
{
    pages_->setCurrentIndex(read_once_ && model_->is_empty() && removals_.newest() == 0 ? 1 : 0);
}

void LibraryView::update_footer()
{
    const bool goes_on = current().data(LibraryModel::UnfinishedRole).toBool();
    const QString name = current_session(), removed = model_->name_of(removals_.newest());
    go_on_bar_->show_text(goes_on ? tr("“%1” was not read to its end.").arg(name) : QString());
    if (goes_on) go_on_bar_->button().setAccessibleName(tr("Go on with %1").arg(name));
    undo_bar_->show_text(removed.isEmpty() ? QString() : tr("“%1” was deleted.").arg(removed));
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
    if (const LibraryDocument* document = model_->document(index); document && !document->ids.empty()) {
        add_document_actions(menu, *document);
        menu.addSeparator();
    }
    add("open", tr("&Open a document…"), [this] { Q_EMIT open_files_wanted(); });
    add("import", tr("&Import a session…"), [this] { Q_EMIT import_wanted(); });
}

void LibraryView::add_document_actions(QMenu& menu, const LibraryDocument& document)
{
    const QString source = document.source, title = document.title;
    const std::vector<int64_t> ids = document.ids;
    const bool is_unread = document.sessions.empty();
    const auto add = [&](const char* symbol, const QString& text, auto what) {
        connect(menu.addAction(icon(symbol), text), &QAction::triggered, this, what);
    };
    add("new", tr("&New session about this document"), [this, source, ids] {
        if (QFileInfo(source).isFile())
            Q_EMIT new_session_wanted({source});
        else
            Q_EMIT session_about_wanted(ids.front());
    });
    if (!document.is_kept)
        add("document", tr("&Keep in the library"), [this, ids] { Q_EMIT keep_wanted(ids); });
    else if (is_unread)
        add("delete", tr("D&elete…"), [this, ids, title] { ask_to_delete(ids, title); });
    else
        add("document", tr("Do not &keep without a session"), [this, ids] { Q_EMIT stop_keeping_wanted(ids); });
}

void LibraryView::ask_to_delete(const std::vector<int64_t>& documents, const QString& title)
{
    auto* question =
        new QMessageBox(QMessageBox::Question, tr("Delete a document"),
                        tr("Delete “%1” for good?").arg(visible_text(title)), QMessageBox::Cancel, this);
    question->setInformativeText(tr("Its stored text goes, and all backups of the sessions are made anew without "
                                    "it. The file that it was read from stays."));
    question->setAttribute(Qt::WA_DeleteOnClose);
    const QPushButton* remove = question->addButton(tr("Delete"), QMessageBox::DestructiveRole);
    question->setDefaultButton(QMessageBox::Cancel);
    connect(remove, &QPushButton::clicked, this, [this, documents] { Q_EMIT stop_keeping_wanted(documents); });
    question->open();
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
