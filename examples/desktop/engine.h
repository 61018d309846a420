// The model, on a thread of its own: the window asks by queued calls and hears by signals, so that it never
// waits.
#pragma once
#include <QObject>
#include <QString>
#include <atomic>
#include <g4/g4.hpp>
#include <mutex>
#include <optional>

class Engine : public QObject {
  Q_OBJECT
 public:
  // For the thread that asks: before each request, and to end the one that is under way.
  void begin() { stop_ = false; }
  void stop();

 public slots:
  void open(const QString& path);
  // conversation: JSON messages; only what is new since the last call is read.
  void ask(const QByteArray& conversation);
  void forget();
  void save(const QString& path);
  void restore(const QString& path, const QByteArray& conversation);

 signals:
  void opened(const QString& name, int context);
  void progress(const QString& what, double part);
  void piece(const QString& text, bool thought, int count, double seconds);
  void answered(const QByteArray& message, bool stopped);
  void position(int tokens);
  void saved(const QString& path);
  void restored(int tokens);
  // why is empty if the engine was stopped.
  void failed(const QString& what, const QString& why);

 private:
  template <typename Work>
  void guarded(const QString& what, Work work);

  std::mutex mutex_;  // over replacing the session, which stop() reaches from another thread
  std::optional<g4::Session> session_;
  std::atomic<bool> stop_ = false;
};
