#include "ui/base/icon.h"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmapCache>
#include <QSvgRenderer>

static void load_icons()
{
    Q_INIT_RESOURCE(icons);
}

namespace palimpsest::ui {
namespace {

// Draws an SVG, with `currentColor` replaced by the palette's text colour.
class SymbolEngine final : public QIconEngine {
public:
    explicit SymbolEngine(const QString& file) : file_(file) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override
    {
        const double ratio = painter->device()->devicePixelRatioF();
        QPixmap drawn = pixmap((QSizeF(rect.size()) * ratio).toSize(), mode, state);
        drawn.setDevicePixelRatio(ratio);
        painter->drawPixmap(rect.topLeft(), drawn);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) override
    {
        const QString key =
            QStringLiteral("%1:%2x%3:%4")
                .arg(file_, QString::number(size.width()), QString::number(size.height()), color(mode).name());
        QPixmap drawn;
        if (QPixmapCache::find(key, &drawn)) return drawn;
        drawn = QPixmap(size);
        drawn.fill(Qt::transparent);
        QPainter painter(&drawn);
        QSvgRenderer(svg(color(mode))).render(&painter);
        painter.end();
        QPixmapCache::insert(key, drawn);
        return drawn;
    }

    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal) override
    {
        return pixmap(size, mode, state);
    }

    QIconEngine* clone() const override { return new SymbolEngine(file_); }
    bool isNull() override { return !QFile::exists(file_); }

private:
    static QColor color(QIcon::Mode mode)
    {
        const QPalette palette = QGuiApplication::palette();
        if (mode == QIcon::Selected) return palette.color(QPalette::HighlightedText);
        return palette.color(mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active, QPalette::WindowText);
    }

    QByteArray svg(const QColor& color) const
    {
        QFile file(file_);
        if (!file.open(QIODevice::ReadOnly)) return {};
        return file.readAll().replace("currentColor", color.name().toLatin1());
    }

    QString file_;
};

} // namespace

QIcon icon(const char* name)
{
    load_icons();
    return QIcon(new SymbolEngine(QStringLiteral(":/icons/%1.svg").arg(QLatin1String(name))));
}

// Renders the SVG file itself, because Qt needs plugins for it that some distributions package separately.
QIcon program_icon()
{
    load_icons();
    QSvgRenderer drawing(QStringLiteral(":/icons/palimpsest.svg"));
    QIcon icon;
    for (const int side : {16, 24, 32, 48, 64, 128, 256}) {
        QPixmap drawn(side, side);
        drawn.fill(Qt::transparent);
        QPainter painter(&drawn);
        drawing.render(&painter);
        painter.end();
        icon.addPixmap(drawn);
    }
    return icon;
}

} // namespace palimpsest::ui
