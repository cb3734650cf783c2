#include "tests/ui/languages/translation_file.h"

#include <QFile>
#include <QXmlStreamReader>

namespace palimpsest::tests {
namespace {

void read_translation(QXmlStreamReader& xml, TranslatedMessage& message)
{
    message.state = xml.attributes().value(QLatin1String("type")).toString();
    QString text;
    while (!xml.atEnd() && !(xml.readNext() == QXmlStreamReader::EndElement && xml.name() == u"translation")) {
        if (xml.isCharacters())
            text += xml.text();
        else if (xml.isStartElement() && xml.name() == u"numerusform")
            message.forms += xml.readElementText();
    }
    if (message.forms.isEmpty()) message.forms += text;
}

} // namespace

QMap<QString, TranslatedMessage> read_translations(const QString& file)
{
    QMap<QString, TranslatedMessage> messages;
    QFile device(file);
    if (!device.open(QIODevice::ReadOnly)) return messages;
    QXmlStreamReader xml(&device);
    QString context, comment;
    TranslatedMessage message;
    while (!xml.atEnd()) {
        const QXmlStreamReader::TokenType token = xml.readNext();
        if (token == QXmlStreamReader::EndElement && xml.name() == u"message")
            messages.insert(context + QLatin1String(" | ") + message.source + comment, message);
        if (token != QXmlStreamReader::StartElement) continue;
        if (xml.name() == u"name")
            context = xml.readElementText();
        else if (xml.name() == u"message") {
            message = {.is_plural = xml.attributes().hasAttribute(QLatin1String("numerus"))};
            comment.clear();
        } else if (xml.name() == u"source")
            message.source = xml.readElementText();
        else if (xml.name() == u"comment")
            comment = QLatin1String(" | ") + xml.readElementText();
        else if (xml.name() == u"translation")
            read_translation(xml, message);
    }
    return xml.hasError() ? QMap<QString, TranslatedMessage>() : messages;
}

} // namespace palimpsest::tests
