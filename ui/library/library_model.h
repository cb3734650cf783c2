// Documents with their sessions, and sessions without a document, as a tree for views.
#pragma once

#include <QAbstractItemModel>
#include <QSet>
#include <memory>

#include "ui/library/library_contents.h"

namespace palimpsest::ui {

class LibraryModel final : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Role {
        SessionRole = Qt::UserRole, // its name; null for a document
        DetailRole,                 // the second line: quiet, translated
        UnfinishedRole,             // bool: it offers to go on
        OpenRole,                   // bool: it is the open session
        SourceRole,                 // of a document: the file it was read from
        KeyRole                     // tells an item from all others, also after the contents were read again
    };

    explicit LibraryModel(QObject* parent = nullptr);

    // Views keep their place where only facts changed; otherwise all is reset.
    void set_contents(std::shared_ptr<const LibraryContents> contents);
    // A session that is shown no longer, though it is there: its removal can be undone.
    void set_hidden(const QSet<qint64>& sessions);
    // Empty: none. While it computes it is not called unfinished.
    void set_open_session(const QString& name, bool computes);

    QModelIndex index_of(const QString& session) const;
    QStringList all_sessions() const;                                // hidden ones too: their names are not free
    QString name_of(qint64 session) const;                           // of hidden ones too; empty: there is none
    const LibraryDocument* document(const QModelIndex& index) const; // null for a session
    const LibrarySession* session(const QModelIndex& index) const;   // null for a document
    bool is_empty() const { return documents_.empty(); }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

Q_SIGNALS:
    void rename_wanted(const QString& session, const QString& to);

private:
    void rebuild();
    bool is_unfinished(const LibrarySession& session) const;
    QString detail(const LibraryDocument& document) const;
    QString detail(const LibrarySession& session) const;
    QString key(const QModelIndex& index) const;

    std::shared_ptr<const LibraryContents> contents_;
    QSet<qint64> hidden_;
    std::vector<LibraryDocument> documents_; // of contents_, without what is hidden
    QString open_;
    bool open_computes_ = false;
};

} // namespace palimpsest::ui
