#include "ui/window/single_instance.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QDir>
#include <QFileInfo>
#include <QLocalServer>
#include <QLocalSocket>
#include <QLockFile>
#include <QStandardPaths>

namespace palimpsest::ui {
namespace {

constexpr quint32 protocol = 0x50414c31;       // "PAL1"
constexpr qint64 most_request_bytes = 1 << 20; // docs/validation.md, L19
const QByteArray taken = "taken\n";

QString address_for(const QString& database)
{
    QString folder = QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation);
    if (folder.isEmpty()) folder = QDir::tempPath();
    // A canonical path gives a database the same address whatever path names it; a hash keeps the address below the
    // length limit of a socket path.
    const QFileInfo file(database);
    const QString known = file.exists() ? file.canonicalFilePath() : file.absoluteFilePath();
    const QByteArray hash = QCryptographicHash::hash(known.toUtf8(), QCryptographicHash::Sha256).toHex().left(16);
    return QStringLiteral("%1/palimpsest-%2").arg(folder, QString::fromLatin1(hash));
}

QByteArray packed(const StartRequest& request)
{
    QByteArray bytes;
    QDataStream stream(&bytes, QIODevice::WriteOnly);
    stream.setVersion(QDataStream::Qt_6_4);
    stream << protocol << request.files << request.activation;
    return bytes;
}

} // namespace

SingleInstance::SingleInstance(const QString& database, QObject* parent)
    : QObject(parent), address_(address_for(database)), server_(new QLocalServer(this))
{
    server_->setSocketOptions(QLocalServer::UserAccessOption);
    connect(server_, &QLocalServer::newConnection, this, &SingleInstance::take_connection);
}

SingleInstance::~SingleInstance() = default;

SingleInstance::Role SingleInstance::begin(const StartRequest& request, int patience_ms)
{
    // The lock serialises simultaneous starts: the first instance listens before the second connects.
    QLockFile turn(address_ + QStringLiteral(".lock"));
    turn.setStaleLockTime(10'000);
    turn.tryLock(patience_ms);
    const Answer answer = hand_over(request, patience_ms);
    if (answer == Answer::Taken) return Role::HandedOver;
    if (answer == Answer::Silent) return Role::Unanswered;
    return listen() ? Role::First : Role::Unanswered;
}

SingleInstance::Answer SingleInstance::hand_over(const StartRequest& request, int patience_ms) const
{
    QLocalSocket socket;
    socket.connectToServer(address_);
    if (!socket.waitForConnected(patience_ms)) return Answer::None;
    socket.write(packed(request));
    socket.flush();
    while (socket.bytesAvailable() < taken.size())
        if (!socket.waitForReadyRead(patience_ms)) return Answer::Silent;
    return socket.read(taken.size()) == taken ? Answer::Taken : Answer::Silent;
}

bool SingleInstance::listen()
{
    if (server_->listen(address_)) return true;
    QLocalServer::removeServer(address_); // removes the socket of a killed instance: no instance answered on it
    return server_->listen(address_);
}

void SingleInstance::take_connection()
{
    while (QLocalSocket* socket = server_->nextPendingConnection()) {
        socket->setReadBufferSize(most_request_bytes);
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] { read(socket); });
        if (socket->bytesAvailable() > 0) read(socket);
    }
}

void SingleInstance::read(QLocalSocket* socket)
{
    if (socket->bytesAvailable() >= most_request_bytes) return socket->abort();
    QDataStream stream(socket);
    stream.setVersion(QDataStream::Qt_6_4);
    stream.startTransaction();
    quint32 magic = 0;
    StartRequest request;
    stream >> magic >> request.files >> request.activation;
    if (!stream.commitTransaction()) {
        if (stream.status() == QDataStream::ReadCorruptData) socket->abort();
        return;
    }
    if (magic != protocol) return socket->abort();
    socket->write(taken);
    socket->flush();
    Q_EMIT requested(request);
}

} // namespace palimpsest::ui
