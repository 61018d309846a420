// What was said: JSON messages as g4 reads them, kept in a file beside the KV file.
#pragma once
#include <QJsonArray>
#include <QString>

struct Conversation {
  QJsonArray messages;

  bool empty() const { return messages.isEmpty(); }
  void add(const QString& role, const QString& content);
  void add(const QByteArray& message);  // as g4_chat_parse gives it
  QByteArray json() const;

  // Both give "" if all went well, else what is wrong.
  QString write(const QString& path) const;
  QString read(const QString& path);

  static QString kv_path(const QString& path) { return path + QStringLiteral(".g4kv"); }
};
