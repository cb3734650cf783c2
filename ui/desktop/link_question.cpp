#include "ui/desktop/link_question.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QMessageBox>
#include <QPushButton>
#include <QUrl>

#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

struct LinkWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::LinkQuestion)
};

bool may_be_opened(const QUrl& url)
{
    return url.isValid() && (url.scheme() == QLatin1String("https") || url.scheme() == QLatin1String("http"));
}

} // namespace

void ask_about_link(QWidget* parent, const QString& address)
{
    const QUrl url(address, QUrl::StrictMode);
    auto* question = new QMessageBox(parent);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setTextFormat(Qt::PlainText);
    question->setInformativeText(visible_address(address));
    if (may_be_opened(url)) {
        question->setIcon(QMessageBox::Question);
        question->setText(
            LinkWords::tr("Open this address in your browser? It was written by the model, not by a person."));
        QPushButton* open = question->addButton(LinkWords::tr("Open in browser"), QMessageBox::AcceptRole);
        question->setDefaultButton(question->addButton(QMessageBox::Cancel));
        QObject::connect(open, &QPushButton::clicked, question, [url] { QDesktopServices::openUrl(url); });
    } else {
        question->setIcon(QMessageBox::Warning);
        question->setText(LinkWords::tr("This is not a web address, and it is not opened."));
        question->addButton(QMessageBox::Close);
    }
    question->open();
}

} // namespace palimpsest::ui
