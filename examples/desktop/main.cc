// A chat window for Gemma 4 models: g4-desktop [MODEL.gguf]
#include <QApplication>

#include "chat_window.h"

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QApplication::setApplicationName("g4");
  ChatWindow window;
  window.show();
  const QStringList arguments = QApplication::arguments();
  if (arguments.size() > 1) window.open_model(arguments[1]);
  return QApplication::exec();
}
