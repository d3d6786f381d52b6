"""The stage engine: objects of KWOK's kind `Stage` in, changes of pods, nodes and others out.

`engine.Engine` plays the stored stages. The composition root serves the kinds of `kinds`. `builtin`
contains the sets of stages with which a server can start. `kubelet` creates the engine and selects
its pods and nodes. `jq` and `gotemplates` are the two languages of stages.
"""
