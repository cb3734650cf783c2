// One window per user and database: a second start hands its files to the first, and ends.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <memory>

class QLocalServer;
class QLocalSocket;

namespace palimpsest::ui {

// What a start was asked to do.
struct StartRequest {
    QStringList files;     // absolute
    QByteArray activation; // the desktop's permission to raise the window; empty: none was given
};

class SingleInstance : public QObject {
    Q_OBJECT
public:
    enum class Role {
        First,      // the others hand over to this one
        HandedOver, // the first has the request
        Unanswered  // there is a first, but it does not answer
    };

    explicit SingleInstance(const QString& database, QObject* parent = nullptr);
    ~SingleInstance() override;

    // Takes `patience_ms` at most, and no time to speak of if there is no other.
    Role begin(const StartRequest& request, int patience_ms = 3000);

Q_SIGNALS:
    void requested(const palimpsest::ui::StartRequest& request);

private:
    enum class Answer { None, Silent, Taken };
    Answer hand_over(const StartRequest& request, int patience_ms) const;
    bool listen();
    void take_connection();
    void read(QLocalSocket* socket);

    QString address_; // a socket in the user's own folder
    QLocalServer* server_;
};

} // namespace palimpsest::ui
