"""Lets the model call a function, and answer with its result."""
import g4

ADD = {"type": "function", "function": {
    "name": "add", "description": "Add two numbers.",
    "parameters": {"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "integer", "description": "The first number."},
        "b": {"type": "integer", "description": "The second number."}}}}}

with g4.Session() as session:
    messages = [{"role": "user", "content": "What is 214 + 392?"}]
    answer = session.chat(messages, tools=[ADD], temperature=0)
    messages.append(answer)
    for call in answer.tool_calls:
        print("the model calls", call.name, call.arguments)
        result = call.arguments["a"] + call.arguments["b"]
        messages.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": str(result)})
    print(session.chat(messages, tools=[ADD], temperature=0))
