// List model of the messages and passages that the search has found so far.
#pragma once

#include <QAbstractListModel>

#include "ui/library/library_reader.h"

namespace palimpsest::ui {

class SearchModel final : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        TitleRole = Qt::UserRole, // of the document; for a message, its session
        SectionRole,              // of the document; may be empty
        SnippetRole               // Snippet
    };

    using QAbstractListModel::QAbstractListModel;

    void clear();
    void add(const std::vector<SearchHit>& hits);
    const SearchHit& hit(const QModelIndex& index) const { return hits_[static_cast<size_t>(index.row())]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    std::vector<SearchHit> hits_;
};

} // namespace palimpsest::ui
