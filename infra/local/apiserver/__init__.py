"""A stand-in for kube-apiserver: the Nodes, Pods and Events of a cluster in one process, without etcd.

It answers as kube-apiserver 1.36 does wherever our code could notice the difference. Not here: authorization, admission
(so no not-ready taint on a new Node), server-side apply, controllers, a scheduler.
"""
