// A .ts file as a list of messages.
#pragma once

#include <QMap>
#include <QString>
#include <QStringList>

namespace palimpsest::tests {

struct TranslatedMessage {
    QString source{};
    QStringList forms{}; // one, or one per plural form of the language if is_plural
    bool is_plural = false;
    QString state{}; // "unfinished", "vanished", "obsolete"; empty: done
};

// Messages by context and source, and by comment if there is one; empty if the file cannot be read.
QMap<QString, TranslatedMessage> read_translations(const QString& file);

} // namespace palimpsest::tests
