#include "ui/engine/session_name.h"

#include <QDateTime>
#include <QFileInfo>
#include <QLocale>
#include <QTextBoundaryFinder>

namespace palimpsest::ui {
namespace {

constexpr qsizetype max_name_bytes = 200; // of a session name (storage/conversations.h)

// Returns the longest prefix of whole characters (graphemes) that fits in `max_bytes` of UTF-8.
QString shortened(const QString& text, qsizetype max_bytes)
{
    QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, text);
    characters.toEnd();
    qsizetype length = text.size();
    while (length > 0 && text.left(length).toUtf8().size() > max_bytes)
        length = characters.toPreviousBoundary();
    return text.left(length);
}

} // namespace

QString name_of_new_session(const NewSession& request, const QString& file, UserDatabase& database)
{
    QString name = request.name;
    if (name.isEmpty() && !file.isEmpty()) name = QFileInfo(file).completeBaseName();
    if (name.isEmpty()) name = QLocale::c().toString(QDateTime::currentDateTime(), u"'chat' yyyy-MM-dd HH:mm");
    return request.saved ? free_session_name(name, database) : shortened(name, max_name_bytes);
}

QString free_session_name(const QString& wanted, UserDatabase& database)
{
    QString name = shortened(wanted, max_name_bytes);
    for (int number = 2; database.store().conversations.find(name.toStdString()); ++number) {
        const QString with_number =
            EngineThread::tr("%1, chat %2").arg(QStringLiteral("%1"), QString::number(number));
        name = with_number.arg(shortened(wanted, max_name_bytes - with_number.toUtf8().size()));
    }
    return name;
}

} // namespace palimpsest::ui
