#include "engine.h"

#include <QFileInfo>
#include <chrono>
#include <utility>
#include <vector>

namespace {
std::string_view view(const QByteArray& bytes) {
  return {bytes.constData(), static_cast<size_t>(bytes.size())};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
}  // namespace

void Engine::stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  if (session_) session_->cancel();
}

// What went wrong is shown in the window; a stop is no error.
template <typename Work>
void Engine::guarded(const QString& what, Work work) {
  try {
    work();
  } catch (const g4::Error& error) {
    emit failed(what, error.status() == G4_ERR_CANCELLED ? QString() : QString::fromUtf8(error.what()));
  } catch (const std::bad_alloc&) {
    emit failed(what, tr("There is not enough memory."));
  }
}

void Engine::open(const QString& path) {
  guarded(tr("The model could not be opened"), [&] {
    g4::Session session = g4::Session::open(path.toStdString(), {}, [&](const g4_event& event) {
      emit progress(tr("Opening"),
                    static_cast<double>(event.done_count) / static_cast<double>(event.total_count));
      return !stop_;
    });
    const g4_info info = session.info();
    const QString name = *info.name ? QString::fromUtf8(info.name) : QFileInfo(path).completeBaseName();
    {
      const std::lock_guard lock(mutex_);
      session_ = std::move(session);
    }
    emit opened(QStringLiteral("%1 · %2 · %3").arg(name, info.quantisation, info.cpu),
                static_cast<int>(info.context_count));
  });
}

void Engine::ask(const QByteArray& conversation) {
  guarded(tr("There is no answer"), [&] {
    std::vector<int32_t> answer;
    std::chrono::steady_clock::time_point start;
    g4_generate_options options = {};
    options.flags = G4_GENERATE_EXTEND;
    const std::vector<int32_t> prompt = session_->tokenizer().chat_tokenize(view(conversation));
    const auto result = session_->generate(prompt, options, [&](const g4_event& event) {
      if (event.kind == G4_EVENT_PREFILL) {
        emit progress(tr("Reading"),
                      static_cast<double>(event.done_count) / static_cast<double>(event.total_count));
      } else {
        if (answer.empty()) start = std::chrono::steady_clock::now();
        answer.push_back(event.token);
        emit piece(QString::fromUtf8(event.text), event.channel == G4_CHANNEL_THOUGHT,
                   static_cast<int>(answer.size()), seconds_since(start));
      }
      return !stop_;
    });
    const bool stopped =
        result.finish_reason == G4_FINISH_CANCELLED || result.finish_reason == G4_FINISH_CALLBACK;
    emit position(static_cast<int>(session_->position()));
    if (stopped && answer.empty()) return emit failed({}, {});  // the question was not read to its end
    emit answered(QByteArray::fromStdString(session_->tokenizer().chat_parse(answer)), stopped);
  });
}

void Engine::forget() {
  if (session_) session_->reset();
  emit position(0);
}

void Engine::save(const QString& path) {
  guarded(tr("The conversation could not be saved"), [&] {
    session_->save_kv(path.toStdString());
    emit saved(path);
  });
}

void Engine::restore(const QString& path, const QByteArray& conversation) {
  guarded(tr("The conversation will be read again before the next answer"), [&] {
    session_->reset();
    g4_chat_options options = {};
    options.flags = G4_CHAT_NO_GENERATION_PROMPT;
    const std::vector<int32_t> tokens = session_->tokenizer().chat_tokenize(view(conversation), options);
    emit restored(static_cast<int>(session_->load_kv(path.toStdString(), tokens)));
  });
  emit position(static_cast<int>(session_->position()));
}
