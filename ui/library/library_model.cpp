#include "ui/library/library_model.h"

#include <QFont>
#include <QIcon>
#include <QLocale>
#include <algorithm>

#include "ui/base/icon.h"
#include "ui/base/quantity.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

// QModelIndex::internalId is no_parent for a document; for a session, it is the row of the document.
constexpr quintptr no_parent = ~quintptr{0};

bool has_same_shape(const std::vector<LibraryDocument>& a, const std::vector<LibraryDocument>& b)
{
    const auto same_session = [](const LibrarySession& x, const LibrarySession& y) { return x.id == y.id; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
        return x.ids == y.ids &&
               std::equal(x.sessions.begin(), x.sessions.end(), y.sessions.begin(), y.sessions.end(), same_session);
    });
}

QStringList notes(const LibraryDocument& document)
{
    QStringList sentences;
    for (const Text& note : document.notes)
        sentences << shown(note);
    return sentences;
}

// HTML: names and notes come from documents, and are shown as they are.
QString tooltip(const LibraryDocument& document)
{
    QStringList lines{document.source.toHtmlEscaped()};
    for (const QString& note : notes(document))
        lines << note.toHtmlEscaped();
    if (lines == QStringList{QString()}) return {};
    return QStringLiteral("<qt>%1</qt>").arg(lines.join(QLatin1String("<br>")));
}

QString when(const QDateTime& time)
{
    const QDate today = QDate::currentDate();
    const qint64 days = time.date().daysTo(today);
    if (days == 0) return QLocale().toString(time.time(), QLocale::ShortFormat);
    if (days == 1) return LibraryModel::tr("yesterday");
    return QLocale().toString(time.date(), QLocale::ShortFormat);
}

} // namespace

LibraryModel::LibraryModel(QObject* parent)
    : QAbstractItemModel(parent), contents_(std::make_shared<LibraryContents>())
{
}

void LibraryModel::set_contents(std::shared_ptr<const LibraryContents> contents)
{
    contents_ = std::move(contents);
    rebuild();
}

void LibraryModel::set_hidden(const QSet<qint64>& sessions)
{
    if (hidden_ == sessions) return;
    hidden_ = sessions;
    rebuild();
}

void LibraryModel::rebuild()
{
    std::vector<LibraryDocument> shown;
    for (LibraryDocument document : contents_->documents) {
        std::erase_if(document.sessions, [&](const auto& session) { return hidden_.contains(session.id); });
        if (!document.sessions.empty() || document.is_kept) shown.push_back(std::move(document));
    }
    if (!has_same_shape(documents_, shown)) {
        beginResetModel();
        documents_ = std::move(shown);
        endResetModel();
        return;
    }
    documents_ = std::move(shown);
    const int rows = rowCount();
    if (rows == 0) return;
    Q_EMIT dataChanged(index(0, 0), index(rows - 1, 0));
    for (int row = 0; row < rows; ++row) {
        const QModelIndex parent = index(row, 0);
        Q_EMIT dataChanged(index(0, 0, parent), index(rowCount(parent) - 1, 0, parent));
    }
}

void LibraryModel::set_open_session(const QString& name, bool computes)
{
    if (open_ == name && open_computes_ == computes) return;
    const QString before = std::exchange(open_, name);
    open_computes_ = computes;
    for (const QString& changed : {before, name})
        for (const QModelIndex& at : all_of(changed))
            Q_EMIT dataChanged(at, at);
}

QModelIndexList LibraryModel::all_of(const QString& session) const
{
    QModelIndexList all;
    for (size_t row = 0; row < documents_.size(); ++row) {
        const auto& sessions = documents_[row].sessions;
        for (size_t i = 0; i < sessions.size(); ++i)
            if (sessions[i].name == session) all << createIndex(static_cast<int>(i), 0, row);
    }
    return all;
}

QModelIndex LibraryModel::index_of(const QString& session) const
{
    return all_of(session).value(0);
}

QStringList LibraryModel::all_sessions() const
{
    QStringList names;
    for (const LibraryDocument& document : contents_->documents)
        for (const LibrarySession& session : document.sessions)
            names.append(session.name);
    names.removeDuplicates();
    return names;
}

QString LibraryModel::name_of(qint64 session) const
{
    for (const LibraryDocument& document : contents_->documents)
        for (const LibrarySession& at : document.sessions)
            if (at.id == session) return at.name;
    return {};
}

const LibraryDocument* LibraryModel::document(const QModelIndex& index) const
{
    if (!index.isValid() || !checkIndex(index) || index.internalId() != no_parent) return nullptr;
    return &documents_[static_cast<size_t>(index.row())];
}

const LibrarySession* LibraryModel::session(const QModelIndex& index) const
{
    if (!index.isValid() || !checkIndex(index) || index.internalId() == no_parent) return nullptr;
    return &documents_[index.internalId()].sessions[static_cast<size_t>(index.row())];
}

QModelIndex LibraryModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent)) return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) : no_parent);
}

QModelIndex LibraryModel::parent(const QModelIndex& child) const
{
    if (!child.isValid() || child.internalId() == no_parent) return {};
    return createIndex(static_cast<int>(child.internalId()), 0, no_parent);
}

int LibraryModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid()) return static_cast<int>(documents_.size());
    const LibraryDocument* of = parent.column() == 0 ? document(parent) : nullptr;
    return of ? static_cast<int>(of->sessions.size()) : 0;
}

int LibraryModel::columnCount(const QModelIndex&) const
{
    return 1;
}

bool LibraryModel::is_unfinished(const LibrarySession& session) const
{
    return session.is_unfinished() && !(session.name == open_ && open_computes_);
}

QString LibraryModel::detail(const LibraryDocument& document) const
{
    QString chats = document.sessions.empty()
                        ? tr("not read yet")
                        : tr("%n session(s)", nullptr, static_cast<int>(document.sessions.size()));
    if (document.ids.empty()) return chats;
    return tr("%1 tokens · %2").arg(count_text(document.tokens), chats);
}

QString LibraryModel::detail(const LibrarySession& session) const
{
    QString time = when(session.changed);
    if (session.name == open_) return open_computes_ ? tr("open, working") : tr("open · %1").arg(time);
    if (!is_unfinished(session)) return time;
    if (session.tokens_saved == 0) return tr("is read when opened · %1").arg(time);
    const auto percent = 100 * session.tokens_saved / session.document_tokens;
    return tr("stopped at %1 %, goes on when opened · %2").arg(percent).arg(time);
}

QString LibraryModel::key(const QModelIndex& index) const
{
    if (const LibrarySession* of = session(index)) return key(index.parent()) + QStringLiteral("s%1").arg(of->id);
    const LibraryDocument* of = document(index);
    return of && !of->ids.empty() ? QStringLiteral("d%1").arg(of->ids.front()) : QStringLiteral("none");
}

QVariant LibraryModel::data(const QModelIndex& index, int role) const
{
    const LibraryDocument* document = this->document(index);
    const LibrarySession* session = this->session(index);
    if (!document && !session) return {};
    const QString title = session                 ? session->name
                          : document->ids.empty() ? tr("Without a document")
                                                  : document->title;
    const QString detail = session ? this->detail(*session) : this->detail(*document);
    switch (role) {
    case Qt::DisplayRole:
        return title;
    case Qt::EditRole:
        return session ? title : QVariant();
    case Qt::DecorationRole:
        return icon(!session ? "document" : is_unfinished(*session) ? "go-on" : "chat");
    case Qt::ToolTipRole:
        return session ? session->model_name : tooltip(*document);
    case Qt::AccessibleDescriptionRole:
        return document ? notes(*document).join(QLatin1Char('\n')) : QVariant();
    case Qt::AccessibleTextRole:
        return tr("%1, %2").arg(title, detail);
    case Qt::FontRole: {
        QFont font;
        font.setBold(session && session->name == open_);
        return font;
    }
    case SessionRole:
        return session ? session->name : QVariant();
    case DetailRole:
        return detail;
    case UnfinishedRole:
        return session && is_unfinished(*session);
    case OpenRole:
        return session && session->name == open_;
    case SourceRole:
        return document ? document->source : QVariant();
    case KeyRole:
        return key(index);
    default:
        return {};
    }
}

bool LibraryModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    const LibrarySession* of = session(index);
    const QString to = value.toString().trimmed();
    if (!of || role != Qt::EditRole || to.isEmpty() || to == of->name) return false;
    Q_EMIT rename_wanted(of->name, to); // the model shows the new name once it is stored
    return true;
}

Qt::ItemFlags LibraryModel::flags(const QModelIndex& index) const
{
    const Qt::ItemFlags flags = QAbstractItemModel::flags(index);
    return session(index) ? flags | Qt::ItemIsEditable | Qt::ItemNeverHasChildren : flags;
}

} // namespace palimpsest::ui
