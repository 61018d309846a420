"""Asks a question, and another that follows from it."""
import g4

with g4.Session() as session:  # the demo model; g4.Session("gemma-4-E2B-it-Q4_0.gguf") opens yours
    messages = [{"role": "user", "content": "What is the capital of Kenya?"}]
    answer = session.chat(messages, temperature=0)
    print(answer)

    messages += [answer, {"role": "user", "content": "And of Norway?"}]
    answer = session.chat(messages, temperature=0)
    print(answer)
    print(f"{answer.usage.prompt_tokens} tokens evaluated, {answer.usage.reused_tokens} were there already")
