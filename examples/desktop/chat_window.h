// A chat with a model: messages, a line to write in, what the engine is doing.
#pragma once
#include <QMainWindow>
#include <QThread>
#include <functional>

#include "conversation.h"
#include "engine.h"

class Banner;
class Bubble;
class Input;
class QAction;
class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

class ChatWindow : public QMainWindow {
  Q_OBJECT
 public:
  ChatWindow();
  ~ChatWindow() override;

  bool busy() const { return busy_; }
  QString last_answer() const;

 public slots:
  void open_model(const QString& path);
  void send();
  void stop();
  void start_over();
  void save_to(const QString& path);
  void restore_from(const QString& path);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* make_messages();
  QWidget* make_composer();
  void make_menus();
  void connect_engine();

  void choose_model();
  void choose_save();
  void choose_restore();

  void request(const QString& doing, std::function<void()> work);  // work is done by the engine's thread
  void set_busy(bool busy, const QString& doing = {});
  void update_actions();
  Bubble* add_bubble(const QString& role, const QString& text);
  void clear_bubbles();
  void on_piece(const QString& text, bool thought, int count, double seconds);
  void on_answered(const QByteArray& message, bool stopped);
  void on_failed(const QString& what, const QString& why);

  QThread thread_;
  Engine* engine_;
  Conversation conversation_;
  bool ready_ = false;  // a model is open
  bool busy_ = false;
  int context_ = 0;
  int position_ = 0;
  Bubble* answer_ = nullptr;  // the one being written

  QLabel* model_ = nullptr;
  Banner* banner_ = nullptr;
  QLabel* welcome_ = nullptr;
  QScrollArea* scroll_ = nullptr;
  QVBoxLayout* messages_ = nullptr;
  Input* input_ = nullptr;
  QPushButton* button_ = nullptr;
  QLabel* status_ = nullptr;
  QLabel* room_ = nullptr;
  QAction* open_ = nullptr;
  QAction* new_ = nullptr;
  QAction* save_ = nullptr;
  QAction* restore_ = nullptr;
};
