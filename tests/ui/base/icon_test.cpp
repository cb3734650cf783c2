// The icon of the window needs no plugin and has the sizes of title bars and task lists; the desktop entry names
// it.
#include <QFile>
#include <QIcon>
#include <QImage>
#include <QSet>
#include <QSettings>
#include <QTest>

#include "tests/support/project_folders.h"
#include "ui/base/icon.h"

using namespace palimpsest::ui;

class IconTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    // Removes all plugin folders, like a machine without Qt's SVG plugins.
    void initTestCase() { QCoreApplication::setLibraryPaths({}); }

    void the_icon_needs_no_plugin_data()
    {
        QTest::addColumn<int>("side");
        for (const int side : {16, 24, 32, 48, 64, 128, 256})
            QTest::newRow(qPrintable(QString::number(side))) << side;
    }

    void the_icon_needs_no_plugin()
    {
        QFETCH(int, side);
        const QIcon icon = program_icon();
        QVERIFY(icon.availableSizes().contains(QSize(side, side)));
        const QImage image = icon.pixmap(side, side).toImage();
        QCOMPARE(image.size(), QSize(side, side));
        QSet<QRgb> colours;
        for (int y = 0; y < side; ++y)
            for (int x = 0; x < side; ++x)
                if (qAlpha(image.pixel(x, y)) == 255) colours.insert(image.pixel(x, y));
        // The paper, its edge, the old and the new lines of text have four colours.
        QVERIFY2(colours.size() >= 4, qPrintable(QString::number(colours.size())));
    }

    void the_desktop_entry_names_the_icon()
    {
        QSettings entry(QString::fromStdString(palimpsest::tests::source_file("packaging/palimpsest.desktop")),
                        QSettings::IniFormat);
        entry.beginGroup("Desktop Entry");
        const QString icon = entry.value("Icon").toString();
        QVERIFY(QFile::exists(QString::fromStdString(
            palimpsest::tests::source_file("resources/icons/" + icon.toStdString() + ".svg"))));
        QCOMPARE(entry.value("StartupWMClass").toString(), "palimpsest"); // WM_CLASS of the program's windows
    }
};

QTEST_MAIN(IconTest)
#include "icon_test.moc"
