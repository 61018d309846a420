#include "chat_window.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QJsonObject>
#include <QKeyEvent>
#include <QLabel>
#include <QMenuBar>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>
#include <utility>

#include "banner.h"
#include "bubble.h"
#include "colours.h"
#include "input.h"

namespace {
constexpr int kColumnWidth = 720;  // lines longer than this are hard to read
constexpr int kMargin = 20;
constexpr char kButtonStyle[] =
    "QPushButton { border: none; border-radius: 8px; padding: 6px 16px; background: palette(window); color: "
    "palette(mid) }"
    "QPushButton:enabled { background: palette(highlight); color: palette(highlighted-text) }"
    "QPushButton:focus { border: 2px solid palette(window-text) }";
constexpr char kChats[] = QT_TR_NOOP("Conversations (*.json)");

class RoundBox : public QWidget {
 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(mixed(palette().color(QPalette::Base), palette().color(QPalette::Text), 0.3));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 12, 12);
  }
};

QLabel* muted(const QString& text) {
  auto* label = new QLabel(text);
  label->setForegroundRole(QPalette::PlaceholderText);
  return label;
}

// A layout that keeps its content in a column in the middle.
QHBoxLayout* in_the_middle(QWidget* content) {
  content->setMaximumWidth(kColumnWidth);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(kMargin, 0, kMargin, 0);
  row->addStretch(1);
  row->addWidget(content, 1000);
  row->addStretch(1);
  return row;
}
}  // namespace

ChatWindow::ChatWindow() : engine_(new Engine) {
  auto* page = new QWidget;
  page->setBackgroundRole(QPalette::Base);
  page->setAutoFillBackground(true);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 10);
  layout->setSpacing(8);
  banner_ = new Banner;
  layout->addWidget(banner_);
  layout->addWidget(make_messages(), 1);
  layout->addLayout(in_the_middle(make_composer()));
  setCentralWidget(page);
  make_menus();
  connect_engine();
  setWindowTitle(tr("g4"));
  resize(860, 720);
  setMinimumSize(360, 320);
  set_busy(false);
  input_->setFocus();
}

ChatWindow::~ChatWindow() {
  engine_->stop();
  thread_.quit();
  thread_.wait();
}

QWidget* ChatWindow::make_messages() {
  auto* column = new QWidget;
  messages_ = new QVBoxLayout(column);
  messages_->setContentsMargins(0, kMargin, 0, kMargin);
  messages_->setSpacing(18);
  welcome_ = muted({});
  welcome_->setAlignment(Qt::AlignCenter);
  welcome_->setWordWrap(true);
  QFont large = welcome_->font();
  large.setPointSizeF(large.pointSizeF() * 1.4);
  welcome_->setFont(large);
  messages_->addWidget(welcome_, 1000);
  messages_->addStretch(1);

  auto* middle = new QWidget;
  middle->setLayout(in_the_middle(column));
  scroll_ = new QScrollArea;
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setWidgetResizable(true);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setWidget(middle);
  middle->setBackgroundRole(QPalette::Base);
  middle->setAutoFillBackground(true);
  // Follows the answer unless the reader has scrolled up.
  QScrollBar* bar = scroll_->verticalScrollBar();
  connect(bar, &QScrollBar::rangeChanged, this, [bar, last = 0](int, int maximum) mutable {
    if (bar->value() >= last - 40) bar->setValue(maximum);
    last = maximum;
  });
  return scroll_;
}

QWidget* ChatWindow::make_composer() {
  input_ = new Input;
  button_ = new QPushButton;
  button_->setMinimumWidth(84);
  button_->setStyleSheet(kButtonStyle);
  auto* box = new RoundBox;
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(10, 6, 6, 6);
  row->addWidget(input_, 1);
  row->addWidget(button_, 0, Qt::AlignBottom);

  status_ = muted({});
  status_->setObjectName("status");
  room_ = muted({});
  auto* below = new QHBoxLayout;
  below->addWidget(status_, 1);
  below->addWidget(room_);

  auto* composer = new QWidget;
  auto* layout = new QVBoxLayout(composer);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(box);
  layout->addLayout(below);
  connect(input_, &Input::entered, this, &ChatWindow::send);
  connect(input_, &Input::textChanged, this, &ChatWindow::update_actions);
  connect(button_, &QPushButton::clicked, this, [this] { busy_ ? stop() : send(); });
  return composer;
}

void ChatWindow::make_menus() {
  QMenu* menu = menuBar()->addMenu(tr("&Conversation"));
  new_ = menu->addAction(tr("&New"), QKeySequence::New, this, &ChatWindow::start_over);
  restore_ =
      menu->addAction(tr("&Restore…"), QKeySequence(tr("Ctrl+Shift+O")), this, &ChatWindow::choose_restore);
  save_ = menu->addAction(tr("&Save…"), QKeySequence::Save, this, &ChatWindow::choose_save);
  menu->addSeparator();
  menu->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
  menu = menuBar()->addMenu(tr("&Model"));
  open_ = menu->addAction(tr("&Open…"), QKeySequence::Open, this, &ChatWindow::choose_model);
  model_ = muted({});
  model_->setContentsMargins(0, 2, 12, 0);
  menuBar()->setCornerWidget(model_);
}

void ChatWindow::connect_engine() {
  engine_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, engine_, &QObject::deleteLater);
  connect(engine_, &Engine::opened, this, [this](const QString& name, int context) {
    ready_ = true;
    context_ = context;
    model_->setText(name);
    menuBar()->setCornerWidget(model_);  // makes room for the longer text
    model_->show();
    clear_bubbles();
    conversation_ = {};
    position_ = 0;
    set_busy(false);
  });
  connect(engine_, &Engine::progress, this, [this](const QString& what, double part) {
    if (busy_) status_->setText(tr("%1… %2 %").arg(what).arg(static_cast<int>(100 * part)));
  });
  connect(engine_, &Engine::piece, this, &ChatWindow::on_piece);
  connect(engine_, &Engine::answered, this, &ChatWindow::on_answered);
  connect(engine_, &Engine::failed, this, &ChatWindow::on_failed);
  connect(engine_, &Engine::position, this, [this](int tokens) {
    position_ = tokens;
    update_actions();
  });
  connect(engine_, &Engine::saved, this, [this] { set_busy(false, tr("Saved.")); });
  connect(engine_, &Engine::restored, this, [this](int tokens) {
    set_busy(false, tr("Restored: %L1 tokens need not be read again.").arg(tokens));
  });
  thread_.start();
}

void ChatWindow::open_model(const QString& path) {
  request(tr("Opening %1…").arg(QFileInfo(path).fileName()), [this, path] { engine_->open(path); });
}

void ChatWindow::send() {
  const QString text = input_->toPlainText().trimmed();
  if (busy_ || !ready_ || text.isEmpty()) return;
  input_->clear();
  conversation_.add("user", text);
  add_bubble("user", text);
  answer_ = add_bubble("assistant", {});
  request(tr("Reading…"), [this, json = conversation_.json()] { engine_->ask(json); });
}

void ChatWindow::stop() {
  if (busy_) engine_->stop();
}

void ChatWindow::keyPressEvent(QKeyEvent* event) {
  event->key() == Qt::Key_Escape ? stop() : QMainWindow::keyPressEvent(event);
}

void ChatWindow::start_over() {
  if (busy_) return;
  clear_bubbles();
  conversation_ = {};
  set_busy(false);
  QMetaObject::invokeMethod(engine_, &Engine::forget);
}

void ChatWindow::save_to(const QString& path) {
  const QString problem = conversation_.write(path);
  if (!problem.isEmpty()) return banner_->say(tr("The conversation could not be saved"), problem);
  request(tr("Saving…"), [this, kv = Conversation::kv_path(path)] { engine_->save(kv); });
}

void ChatWindow::restore_from(const QString& path) {
  Conversation restored;
  const QString problem = restored.read(path);
  if (!problem.isEmpty()) return banner_->say(tr("The conversation could not be restored"), problem);
  conversation_ = restored;
  clear_bubbles();
  for (const QJsonValue& message : restored.messages)
    add_bubble(message["role"].toString(), message["content"].toString());
  request(tr("Restoring…"),
          [this, kv = Conversation::kv_path(path), json = restored.json()] { engine_->restore(kv, json); });
}

void ChatWindow::choose_model() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open a model"), {}, tr("Gemma 4 models (*.gguf)"));
  if (!path.isEmpty()) open_model(path);
}

void ChatWindow::choose_save() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save the conversation"), "conversation.json", tr(kChats));
  if (!path.isEmpty()) save_to(path);
}

void ChatWindow::choose_restore() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Restore a conversation"), {}, tr(kChats));
  if (!path.isEmpty()) restore_from(path);
}

void ChatWindow::request(const QString& doing, std::function<void()> work) {
  set_busy(true, doing);
  engine_->begin();
  QMetaObject::invokeMethod(engine_, std::move(work));
}

void ChatWindow::set_busy(bool busy, const QString& doing) {
  busy_ = busy;
  status_->setText(doing);
  if (busy) banner_->hide();
  update_actions();
}

void ChatWindow::update_actions() {
  const bool idle = ready_ && !busy_;
  button_->setText(busy_ ? tr("Stop") : tr("Send"));
  button_->setEnabled(busy_ || (idle && !input_->toPlainText().trimmed().isEmpty()));
  open_->setEnabled(!busy_);
  new_->setEnabled(idle && !conversation_.empty());
  save_->setEnabled(idle && !conversation_.empty());
  restore_->setEnabled(idle);
  room_->setText(ready_ ? tr("%L1 of %L2 tokens").arg(position_).arg(context_) : QString());
  welcome_->setVisible(conversation_.empty());
  welcome_->setText(ready_  ? tr("Ask anything.\nThe answer is made on this computer.")
                    : busy_ ? tr("Opening the model…")
                            : tr("Open a Gemma 4 model to begin:\nModel ▸ Open, or Ctrl+O"));
}

Bubble* ChatWindow::add_bubble(const QString& role, const QString& text) {
  const bool question = role == "user";
  auto* bubble = new Bubble(question ? Bubble::Side::kQuestion : Bubble::Side::kAnswer, text);
  messages_->insertWidget(messages_->count() - 2, bubble, 0, question ? Qt::AlignRight : Qt::Alignment());
  return bubble;
}

void ChatWindow::clear_bubbles() {
  qDeleteAll(scroll_->findChildren<Bubble*>());
  answer_ = nullptr;
}

QString ChatWindow::last_answer() const {
  const auto bubbles = scroll_->findChildren<Bubble*>();
  return bubbles.isEmpty() ? QString() : bubbles.last()->text();
}

void ChatWindow::on_piece(const QString& text, bool thought, int count, double seconds) {
  if (answer_) answer_->append(text, thought);
  if (count > 1 && seconds > 0)
    status_->setText(tr("%L1 tokens a second").arg((count - 1) / seconds, 0, 'f', 1));
}

void ChatWindow::on_answered(const QByteArray& message, bool stopped) {
  conversation_.add(message);
  answer_ = nullptr;
  set_busy(false, stopped ? tr("Stopped.") : status_->text());
}

void ChatWindow::on_failed(const QString& what, const QString& why) {
  if (answer_) {  // the question goes back to where it was written
    conversation_.messages.removeLast();
    const auto bubbles = scroll_->findChildren<Bubble*>();
    input_->setPlainText(bubbles[bubbles.size() - 2]->text());
    delete bubbles[bubbles.size() - 2];
    delete answer_;
    answer_ = nullptr;
  }
  set_busy(false, why.isEmpty() ? tr("Stopped.") : QString());
  if (!why.isEmpty()) banner_->say(what, why);
}
