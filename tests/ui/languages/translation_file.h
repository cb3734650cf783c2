// A .ts file as a list of messages.
#pragma once

#include <QMap>
#include <QString>
#include <QStringList>

namespace palimpsest::tests {

struct TranslatedMessage {
    QString source{};
    QStringList forms{}; // one; as many as the language has plurals if is_plural
    bool is_plural = false;
    QString state{}; // "unfinished", "vanished", "obsolete"; empty: done
};

// By context and source, and comment if there is one; empty if the file cannot be read.
QMap<QString, TranslatedMessage> read_translations(const QString& file);

} // namespace palimpsest::tests
