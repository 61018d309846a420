#include "input.h"

#include <QKeyEvent>
#include <QTextLayout>
#include <algorithm>

namespace {
constexpr int kMostLines = 6;
}

Input::Input(QWidget* parent) : QPlainTextEdit(parent) {
  setPlaceholderText(tr("Ask something"));
  setAccessibleName(tr("Your question"));
  setTabChangesFocus(true);
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  QFont larger = font();
  larger.setPointSizeF(larger.pointSizeF() * 1.15);
  setFont(larger);
  connect(this, &QPlainTextEdit::textChanged, this, &Input::fit);
  fit();
}

void Input::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && !(event->modifiers() & Qt::ShiftModifier)) {
    emit entered();
  } else {
    QPlainTextEdit::keyPressEvent(event);
  }
}

void Input::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  fit();
}

void Input::fit() {
  const int lines = std::clamp(static_cast<int>(document()->size().height()), 1, kMostLines);
  const int around = 2 * static_cast<int>(document()->documentMargin()) + contentsMargins().top() +
                     contentsMargins().bottom();
  setFixedHeight(lines * fontMetrics().lineSpacing() + around + 2);
}
