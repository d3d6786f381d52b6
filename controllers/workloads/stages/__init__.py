"""The stage engine: objects of KWOK's kind `Stage` in, changes of pods, nodes and others out.

`engine.Engine` plays the stages that are stored; `kinds` are the kinds the composition root serves
for it; `builtin` has the sets a server can begin with. `kubelet` makes the engine and says which
pods and nodes are its own. `jq` and `gotemplates` are the two languages that stages are written in.
"""
