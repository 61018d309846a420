// A message across the top, with a button that closes it.
#pragma once
#include <QLabel>

class Banner : public QWidget {
  Q_OBJECT
 public:
  explicit Banner(QWidget* parent = nullptr);
  void say(const QString& what, const QString& why);
  QString text() const { return label_->text(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QLabel* label_;
};
