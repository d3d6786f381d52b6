from inkube.schemas.builtin.behaviours.pods.pods import qos_class as qos_class
