// One window per user and database: a second instance passes its files to the first and ends.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <memory>

class QLocalServer;
class QLocalSocket;

namespace palimpsest::ui {

// The request of one program start.
struct StartRequest {
    QStringList files;     // absolute paths
    QByteArray activation; // XDG activation token that permits raising the window; empty: none
};

class SingleInstance : public QObject {
    Q_OBJECT
public:
    enum class Role {
        First,      // later instances connect to this one
        HandedOver, // the first instance accepted the request
        Unanswered  // another instance exists but does not answer
    };

    explicit SingleInstance(const QString& database, QObject* parent = nullptr);
    ~SingleInstance() override;

    // Hands `request` to the first instance, or becomes the first. Waits at most `patience_ms` for an answer;
    // returns almost at once if there is no other instance.
    Role begin(const StartRequest& request, int patience_ms = 3000);

Q_SIGNALS:
    void requested(const palimpsest::ui::StartRequest& request);

private:
    enum class Answer { None, Silent, Taken };
    Answer hand_over(const StartRequest& request, int patience_ms) const;
    bool listen();
    void take_connection();
    void read(QLocalSocket* socket);

    QString address_; // path of the local socket, in the user's runtime folder
    QLocalServer* server_;
};

} // namespace palimpsest::ui
