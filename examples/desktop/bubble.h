// One message: a question in a tinted bubble on the right, an answer as plain text, its thoughts muted above
// it.
#pragma once
#include <QFrame>
#include <QLabel>

class Bubble : public QFrame {
  Q_OBJECT
 public:
  enum class Side { kQuestion, kAnswer };
  Bubble(Side side, const QString& text, QWidget* parent = nullptr);

  void append(const QString& text, bool thought);
  const QString& text() const { return text_; }
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QLabel* add_label();
  void mute_thoughts();

  Side side_;
  QString text_;
  QString thoughts_;
  QLabel* thoughts_label_;
  QLabel* text_label_;
};
