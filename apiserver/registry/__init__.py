"""The generic registry: the one pipeline of every write, and reads of one store.

Read its modules in this order:

1. `requests`: what a client asked; `intake` accepts the object in its body.
2. `write`: one attempt to change an object, and what a change is.
3. `changes`, `patches`, `scaling`: the kinds of change.
4. `create`, `update`, `delete`: the stages of a write, in order. `stages`, `ownership`,
   `preparation`, `admission`, `deletion` and `commits` contain them.
5. `engine`: the loop that carries out a change, attempt after attempt.
6. `registry`: the door for handlers, subresources and the client in the process.

Beside them: `resources` is the table of served kinds, `listing` and `selections` read lists,
`conversions` fetches objects in other versions, and `failures` translates errors of storage. The
registry does not depend on HTTP, authorization or particular kinds: strategies prepare and validate
objects, wordings contain the texts of responses, admission plugins change or reject writes.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
