// Lists the files and folders in which the program stores data, with purpose and size.
#pragma once

#include <QString>
#include <vector>

namespace palimpsest::ui {

struct StoredPlace {
    QString what, path;
    qint64 bytes = 0; // sum of the file sizes; 0: nothing is stored
};

// Cost: one stat per file.
std::vector<StoredPlace> stored_places(const QString& database, const QString& preferences_file,
                                       const QString& models_folder);

} // namespace palimpsest::ui
