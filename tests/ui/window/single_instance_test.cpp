// There is one window per database: a second instance hands its files to the first and ends.
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <thread>

#include "tests/ui/support/patience.h"
#include "ui/window/single_instance.h"

using namespace palimpsest;
using namespace palimpsest::ui;

class SingleInstanceTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_second_instance_hands_its_files_to_the_first()
    {
        QTemporaryDir folder;
        const QString database = folder.filePath("palimpsest.db");
        SingleInstance first(database), other(folder.filePath("other.db"));
        QCOMPARE(first.begin({}), SingleInstance::Role::First);
        QCOMPARE(other.begin({}), SingleInstance::Role::First);
        QSignalSpy requested(&first, &SingleInstance::requested);
        // The second instance runs on another thread, because the first answers from this thread's event loop.
        std::atomic<int> role{-1};
        std::thread second([&] {
            SingleInstance start(database);
            role = static_cast<int>(start.begin({{"/books/a.md", "/books/b.md"}, "token"}));
        });
        EVENTUALLY_EQUAL(role.load(), static_cast<int>(SingleInstance::Role::HandedOver));
        second.join();
        QCOMPARE(requested.count(), 1);
        const auto request = requested[0][0].value<StartRequest>();
        QCOMPARE(request.files, (QStringList{"/books/a.md", "/books/b.md"}));
        QCOMPARE(request.activation, QByteArray("token"));
    }

    void an_instance_starts_after_the_first_has_ended()
    {
        QTemporaryDir folder;
        const QString database = folder.filePath("palimpsest.db");
        {
            SingleInstance gone(database);
            QCOMPARE(gone.begin({}), SingleInstance::Role::First);
        }
        SingleInstance next(database);
        QCOMPARE(next.begin({}), SingleInstance::Role::First);
    }

    void an_instance_that_does_not_answer_is_recognised()
    {
        QTemporaryDir folder;
        const QString database = folder.filePath("palimpsest.db");
        SingleInstance hangs(database); // cannot answer, because this thread runs no event loop below
        QCOMPARE(hangs.begin({}), SingleInstance::Role::First);
        SingleInstance second(database);
        QCOMPARE(second.begin({}, 50), SingleInstance::Role::Unanswered);
    }
};

QTEST_MAIN(SingleInstanceTest)
#include "single_instance_test.moc"
