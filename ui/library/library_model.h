// Item model: a tree of documents with their sessions, and of sessions without a document.
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
        SessionRole = Qt::UserRole, // the session's name; null for a document
        DetailRole,                 // second line of text, translated
        UnfinishedRole,             // bool: reading can be continued
        OpenRole,                   // bool: it is the open session
        SourceRole,                 // for a document: the file it was read from
        KeyRole                     // unique key of an item, stable across set_contents
    };

    explicit LibraryModel(QObject* parent = nullptr);

    // Emits dataChanged if the tree has the same items as before, so that views keep their state; else resets the
    // model.
    void set_contents(std::shared_ptr<const LibraryContents> contents);
    // Hides these sessions, which are stored until their removal can no longer be undone.
    void set_hidden(const QSet<qint64>& sessions);
    // `name`: the open session, or empty. While the open session computes, it is not shown as unfinished.
    void set_open_session(const QString& name, bool computes);
    const QString& open_session() const { return open_; }

    QModelIndex
    index_of(const QString& session) const; // in the first document that it has read, as the tree has them
    QStringList all_sessions() const;       // includes hidden ones, whose names are still in use
    QString name_of(qint64 session) const;  // also for hidden ones; empty if there is none
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
    QModelIndexList all_of(const QString& session) const;

    std::shared_ptr<const LibraryContents> contents_;
    QSet<qint64> hidden_;
    std::vector<LibraryDocument> documents_; // contents_ without the hidden sessions
    QString open_;
    bool open_computes_ = false;
};

} // namespace palimpsest::ui
