"""An answer that a JSON schema allows: pip install 'g4[json]'."""
import json

import g4

PERSON = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}

with g4.Session() as session:
    answer = session.chat("Name and age as JSON: Tom is 12.", response_format=PERSON, temperature=0)
    person = json.loads(answer.text)
    print(person["name"], "is", person["age"])
