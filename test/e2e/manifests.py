"""The manifests of configs/kubernetes as plain objects, as kustomize would send them to a cluster.

Only what our files use: resources, labels, generated config maps and secrets, replicas, JSON patches that replace.
"""
import os

import yaml


def load_all(path):
    with open(path, encoding="utf-8") as f:
        return [d for d in yaml.safe_load_all(f) if d]


def kustomization(directory):
    return load_all(os.path.join(directory, "kustomization.yaml"))[0]


def find(objects, kind, name):
    for o in objects:
        if o["kind"] == kind and o["metadata"]["name"] == name:
            return o
    raise AssertionError(f"there is no {kind} {name}")


def render(directory):
    """The objects of a kustomization."""
    k = kustomization(directory)
    objects = []
    for resource in k["resources"]:
        path = os.path.join(directory, resource)
        objects += render(path) if os.path.isdir(path) else load_all(path)
    for kind, key in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
        for generator in k.get(key, []):
            data = dict(literal.split("=", 1) for literal in generator.get("literals", []))
            for name in generator.get("files", []):
                with open(os.path.join(directory, name), encoding="utf-8") as f:
                    data[name] = f.read()
            if generator.get("behavior") == "merge":
                find(objects, kind, generator["name"])["data"].update(data)
            elif generator.get("behavior") == "replace":
                find(objects, kind, generator["name"])["data"] = data
            else:
                objects.append({"apiVersion": "v1", "kind": kind, "metadata": {"name": generator["name"]}, "data": data})
    for replicas in k.get("replicas", []):
        find(objects, "StatefulSet", replicas["name"])["spec"]["replicas"] = replicas["count"]
    for patch in k.get("patches", []):
        target = find(objects, patch["target"]["kind"], patch["target"]["name"])
        for change in yaml.safe_load(patch["patch"]):
            assert change["op"] == "replace", change
            place = target
            *path, last = change["path"].strip("/").split("/")
            for word in path:
                place = place[word]
            assert last in place, change
            place[last] = change["value"]
    for labels in k.get("labels", []):
        for o in objects:
            add_labels(o, labels["pairs"])
    return objects


def add_labels(o, pairs):
    o["metadata"].setdefault("labels", {}).update(pairs)
    spec = o.get("spec", {})
    if o["kind"] == "Service":
        spec["selector"].update(pairs)
    for key in ("selector", "podSelector"):
        if key in spec and o["kind"] != "Service":
            spec[key].setdefault("matchLabels", {}).update(pairs)
    if "template" in spec:
        spec["template"]["metadata"].setdefault("labels", {}).update(pairs)


def pod_environment(objects, workload, pod):
    """Variables of the container, as the kubelet sets them."""
    container = find_container(workload)
    env = {}
    for source in container.get("envFrom", []):
        env.update(find(objects, "ConfigMap", source["configMapRef"]["name"])["data"])
    for variable in container.get("env", []):
        value = variable.get("value")
        if "valueFrom" in variable:
            assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name", variable
            value = pod
        env[variable["name"]] = value
    return env


def find_container(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]
