// Where the question is written: grows with its lines; Enter sends, Shift+Enter begins a new line.
#pragma once
#include <QPlainTextEdit>

class Input : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit Input(QWidget* parent = nullptr);

 signals:
  void entered();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fit();
};
