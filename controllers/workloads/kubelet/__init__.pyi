from inkube.controllers.workloads.kubelet.kubelets import add as add
