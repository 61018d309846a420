#include "bubble.h"

#include <QEvent>
#include <QPainter>
#include <QTextDocument>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "colours.h"

namespace {
constexpr int kRadius = 14;
constexpr int kQuestionWidth = 560;

// Plain text with room between the lines.
QString html(const QString& text) {
  return QStringLiteral("<div style='line-height:132%; white-space:pre-wrap'>%1</div>")
      .arg(text.toHtmlEscaped());
}
}  // namespace

Bubble::Bubble(Side side, const QString& text, QWidget* parent) : QFrame(parent), side_(side) {
  const int around = side == Side::kQuestion ? kRadius : 2;
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(around + 2, around - 1, around + 2,
                             around - 6);  // the last line has room below it
  layout->setSpacing(6);
  thoughts_label_ = add_label();
  text_label_ = add_label();
  setAccessibleName(side == Side::kQuestion ? tr("Question") : tr("Answer"));
  mute_thoughts();
  append(text, false);
}

QLabel* Bubble::add_label() {
  auto* label = new QLabel(this);
  label->setTextFormat(Qt::RichText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * 1.15);
  label->setFont(font);
  label->hide();
  layout()->addWidget(label);
  return label;
}

void Bubble::append(const QString& text, bool thought) {
  QString& all = thought ? thoughts_ : text_;
  QLabel* label = thought ? thoughts_label_ : text_label_;
  all += text;
  label->setText(html(all.trimmed()));
  label->setVisible(!all.isEmpty());
}

// A question is as wide as its words.
QSize Bubble::sizeHint() const {
  if (side_ == Side::kAnswer) return QFrame::sizeHint();
  QTextDocument document;
  document.setDefaultFont(text_label_->font());
  document.setDocumentMargin(0);
  document.setHtml(text_label_->text());
  const QMargins around = contentsMargins() + layout()->contentsMargins();
  const int width = static_cast<int>(std::ceil(document.idealWidth())) + around.left() + around.right() + 2;
  return {std::min(width, kQuestionWidth), QFrame::sizeHint().height()};
}

void Bubble::mute_thoughts() {
  QPalette muted = palette();
  muted.setColor(QPalette::WindowText,
                 mixed(palette().color(QPalette::WindowText), palette().color(QPalette::Base), 0.4));
  thoughts_label_->setPalette(muted);
}

void Bubble::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) mute_thoughts();
}

void Bubble::paintEvent(QPaintEvent*) {
  if (side_ == Side::kAnswer) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(mixed(palette().color(QPalette::Base), palette().color(QPalette::Highlight), 0.22));
  painter.drawRoundedRect(rect(), kRadius, kRadius);
}
