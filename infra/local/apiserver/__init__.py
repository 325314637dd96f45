"""A stand-in for kube-apiserver: the Nodes, Pods and Events of a cluster in one process, without etcd.

It answers as kube-apiserver 1.36 does wherever our code could notice the difference; tests/contract/apiserver runs on
both, and says there where they differ. Not here: RBAC, admission policies, server-side apply, controllers, a scheduler.
"""
