// Uses the chat window as a person would: keys and clicks, and waiting for what appears.
// Environment: G4_MODEL, the demo model; G4_SCREENSHOTS, a folder for pictures.
#include <QAction>
#include <QFile>
#include <QJsonDocument>
#include <QLabel>
#include <QMenuBar>
#include <QPushButton>
#include <QScreen>
#include <QTemporaryDir>
#include <QtTest>
#include <functional>

#include "banner.h"
#include "bubble.h"
#include "chat_window.h"
#include "input.h"

namespace {
constexpr int kPatience = 120000;  // ms

QString model() { return qEnvironmentVariable("G4_MODEL"); }

// The window under test, shown, with the demo model open.
struct Opened {
  ChatWindow window;
  Input* input = window.findChild<Input*>();
  QPushButton* button = window.findChild<QPushButton*>();

  Opened() {
    window.show();
    window.open_model(model());
  }
  bool wait() {
    return QTest::qWaitFor([&] { return !window.busy(); }, kPatience) &&
           QTest::qWaitForWindowExposed(&window, kPatience);
  }
  void ask(const QString& question) {
    QTest::keyClicks(input, question);
    QTest::keyClick(input, Qt::Key_Return);
  }
  QString status() const { return window.findChild<QLabel*>("status")->text(); }
  Banner* error() const { return window.findChild<Banner*>(); }
  QStringList texts() const {
    QStringList all;
    for (const Bubble* bubble : window.findChildren<Bubble*>()) all << bubble->text().trimmed();
    return all;
  }
  // What a person would see, not what the widgets think they look like.
  void picture(const QString& name) {
    QCoreApplication::processEvents();
    QTest::qWait(50);
    const QPixmap seen = window.screen()->grabWindow(window.winId());
    QVERIFY(!seen.isNull());
    const QString folder = qEnvironmentVariable("G4_SCREENSHOTS");
    if (!folder.isEmpty()) QVERIFY(seen.save(folder + "/" + name + ".png"));
  }
};

// What the engine's signals do to the window while it is busy: how often, and something to do at each.
class Steps : public QObject {
 public:
  explicit Steps(ChatWindow& window, std::function<void()> step = {})
      : window_(window), step_(std::move(step)) {
    window.installEventFilter(this);
  }
  int count() const { return count_; }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::MetaCall && window_.busy()) {
      ++count_;
      if (step_) step_();
    }
    return false;
  }

 private:
  ChatWindow& window_;
  std::function<void()> step_;
  int count_ = 0;
};

QPalette dark() {
  QPalette palette(QColor(45, 47, 52));
  palette.setColor(QPalette::Base, QColor(30, 31, 34));
  palette.setColor(QPalette::Highlight, QColor(80, 140, 255));
  return palette;
}
}  // namespace

class ChatWindowTest : public QObject {
  Q_OBJECT
 private slots:
  void welcomes_without_a_model() {
    ChatWindow window;
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window, kPatience));
    QVERIFY(!window.findChild<QPushButton*>()->isEnabled());
    QTest::keyClicks(window.findChild<Input*>(), "Hello");
    QTest::keyClick(window.findChild<Input*>(), Qt::Key_Return);
    QVERIFY(!window.busy());
    QCOMPARE(window.findChild<Input*>()->toPlainText(), QString("Hello"));
  }

  void an_answer_streams() {
    Opened o;
    QVERIFY(o.wait());
    o.picture("welcome");
    Steps steps(o.window);
    o.ask("Tell me a story about a fox in a forest.");
    QVERIFY(o.window.busy());
    QCOMPARE(o.input->toPlainText(), QString());
    QVERIFY(QTest::qWaitFor([&] { return !o.window.last_answer().isEmpty(); }, kPatience));
    o.picture("answering");
    QVERIFY(o.wait());
    QVERIFY2(steps.count() > 10, "the answer did not come piece by piece");
    QVERIFY(o.window.last_answer().size() > 80);
    QVERIFY2(o.status().contains("tokens a second"), qPrintable(o.status()));
    o.ask("What is the capital of Kenya?");
    QVERIFY(o.wait());
    QVERIFY2(o.window.last_answer().contains("Nairobi"), qPrintable(o.window.last_answer()));
    o.picture("light");
    o.window.resize(380, 520);
    o.picture("narrow");
  }

  void shift_enter_begins_a_line() {
    Opened o;
    QVERIFY(o.wait());
    const int height = o.input->height();
    QTest::keyClicks(o.input, "one");
    QTest::keyClick(o.input, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(o.input, "two");
    QCOMPARE(o.input->toPlainText(), QString("one\ntwo"));
    QVERIFY(o.input->height() > height);
  }

  void escape_and_the_button_stop() {
    Opened o;
    QVERIFY(o.wait());
    QString long_question = "Which of these is the capital of Kenya?";
    for (int i = 0; i < 150; ++i) long_question += " Nairobi, Oslo, Paris.";
    o.input->setPlainText(long_question);
    QTest::keyClick(o.input, Qt::Key_Return);
    QVERIFY(o.window.busy());
    QTest::keyClick(o.input, Qt::Key_Escape);  // while it reads
    QVERIFY(o.wait());
    QCOMPARE(o.status(), QString("Stopped."));
    QCOMPARE(o.input->toPlainText(), long_question);
    QCOMPARE(o.texts().size(), 0);
    o.input->clear();

    for (int i = 0; i < 50 && o.texts().isEmpty(); ++i) {  // a short answer may end before the click is there
      Steps steps(o.window, [&] {
        if (o.window.busy() && !o.window.last_answer().isEmpty()) QTest::mouseClick(o.button, Qt::LeftButton);
      });
      o.ask("Tell me a story about a fox in a forest.");
      QCOMPARE(o.button->text(), QString("Stop"));
      QVERIFY(o.wait());
      if (o.status() != "Stopped.") o.window.start_over();
    }
    QCOMPARE(o.status(), QString("Stopped."));
    QCOMPARE(o.button->text(), QString("Send"));
    QVERIFY(!o.window.last_answer().isEmpty());
    o.window.start_over();
    o.ask("What is the capital of Kenya?");
    QVERIFY(o.wait());
    QVERIFY2(o.window.last_answer().contains("Nairobi"), qPrintable(o.window.last_answer()));
  }

  void a_conversation_is_saved_and_restored() {
    QTemporaryDir folder;
    const QString path = folder.filePath("chat.json");
    QStringList texts;
    {
      Opened o;
      QVERIFY(o.wait());
      o.ask("What is the capital of Kenya?");
      QVERIFY(o.wait());
      o.window.save_to(path);
      QVERIFY(o.wait());
      QCOMPARE(o.status(), QString("Saved."));
      texts = o.texts();
    }
    QVERIFY(QFile::exists(Conversation::kv_path(path)));
    Opened o;
    QVERIFY(o.wait());
    o.window.restore_from(path);
    QVERIFY(o.wait());
    QCOMPARE(o.texts(), texts);
    const QRegularExpressionMatch kept = QRegularExpression("Restored: (\\d+) tokens").match(o.status());
    QVERIFY2(kept.hasMatch() && kept.captured(1).toInt() > 10, qPrintable(o.status()));
    o.picture("restored");
    o.ask("And what is the capital of Norway?");
    QVERIFY(o.wait());
    QCOMPARE(o.texts().size(), 4);
    // Without the KV file the words are still there.
    QVERIFY(QFile::remove(Conversation::kv_path(path)));
    o.window.restore_from(path);
    QVERIFY(o.wait());
    QCOMPARE(o.texts(), texts);
    QVERIFY(o.error()->isVisible() && o.error()->text().contains("will be read again"));
    o.ask("What is the capital of Kenya?");
    QVERIFY(o.wait());
    QVERIFY(!o.error()->isVisible());
    QVERIFY(o.window.last_answer().contains("Nairobi"));
  }

  void what_goes_wrong_is_told() {
    Opened o;
    QVERIFY(o.wait());
    o.window.open_model("/no/such/model.gguf");
    QVERIFY(o.wait());
    QVERIFY(o.error()->isVisible() && o.error()->text().contains("/no/such/model.gguf"));
    o.picture("error");
    o.ask("What is the capital of Kenya?");  // the model that was open still is
    QVERIFY(o.wait());
    QVERIFY(o.window.last_answer().contains("Nairobi"));
    o.input->setPlainText(QString(30000, 'a'));
    QTest::keyClick(o.input, Qt::Key_Return);
    QVERIFY(o.wait());
    QVERIFY(o.error()->isVisible());
    QCOMPARE(o.input->toPlainText().size(), 30000);  // not lost
    QCOMPARE(o.texts().size(), 2);
    o.window.save_to("/no/such/folder/chat.json");
    QVERIFY(o.error()->isVisible() && o.error()->text().contains("/no/such/folder"));
    o.window.restore_from(model());
    QVERIFY(o.error()->text().contains("not a saved conversation"));
  }

  void closes_while_it_answers() {
    Opened o;
    QVERIFY(o.wait());
    o.ask("Tell me a story about a fox in a forest.");
    QVERIFY(QTest::qWaitFor([&] { return !o.window.last_answer().isEmpty(); }, kPatience));
  }

  void dark_palettes_are_followed() {
    const QPalette before = QApplication::palette();
    QApplication::setPalette(dark());
    {
      Opened o;
      QVERIFY(o.wait());
      for (const char* question : {"What is the capital of Kenya?",
                                   "Tell me a story about a fox in a forest.", "What is 27 + 36?"}) {
        o.ask(question);
        QVERIFY(o.wait());
      }
      QTest::keyClicks(o.input, "Name and age as JSON: Tom is 12.");
      o.picture("dark");
      const QColor page = o.window.screen()->grabWindow(o.window.winId()).toImage().pixelColor(3, 200);
      QVERIFY2(page.lightness() < 60, qPrintable(page.name()));
    }
    QApplication::setPalette(before);
  }
};

QTEST_MAIN(ChatWindowTest)
#include "use_chat_window.moc"
