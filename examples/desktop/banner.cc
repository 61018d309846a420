#include "banner.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

#include "colours.h"

Banner::Banner(QWidget* parent) : QWidget(parent), label_(new QLabel) {
  label_->setTextFormat(Qt::RichText);
  label_->setWordWrap(true);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* close = new QToolButton;
  close->setText(tr("✕"));
  close->setAutoRaise(true);
  close->setAccessibleName(tr("Close this message"));
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(20, 10, 10, 10);
  row->addWidget(label_, 1);
  row->addWidget(close, 0, Qt::AlignTop);
  hide();
}

void Banner::say(const QString& what, const QString& why) {
  label_->setText(QStringLiteral("<b>%1.</b><br>%2").arg(what.toHtmlEscaped(), why.toHtmlEscaped()));
  show();
}

void Banner::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), mixed(palette().color(QPalette::Base), QColor(230, 120, 20), 0.22));
}
