#include "conversation.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

void Conversation::add(const QString& role, const QString& content) {
  messages.append(QJsonObject{{"role", role}, {"content", content}});
}

void Conversation::add(const QByteArray& message) {
  messages.append(QJsonDocument::fromJson(message).object());
}

QByteArray Conversation::json() const { return QJsonDocument(messages).toJson(QJsonDocument::Compact); }

QString Conversation::write(const QString& path) const {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(messages).toJson()) >= 0 && file.commit())
    return {};
  return QObject::tr("%1: %2").arg(path, file.errorString());
}

QString Conversation::read(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return QObject::tr("%1: %2").arg(path, file.errorString());
  const QJsonDocument document = QJsonDocument::fromJson(file.readAll());
  if (!document.isArray()) return QObject::tr("%1 is not a saved conversation.").arg(path);
  messages = document.array();
  return {};
}
