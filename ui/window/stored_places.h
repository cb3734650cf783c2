// What is stored where, and how much of it there is.
#pragma once

#include <QString>
#include <vector>

namespace palimpsest::ui {

struct StoredPlace {
    QString what, path;
    qint64 bytes = 0; // as the file system has them; 0: there is nothing
};

// Costs a look at each file's size.
std::vector<StoredPlace> stored_places(const QString& database, const QString& preferences_file,
                                       const QString& models_folder);

} // namespace palimpsest::ui
