"""Checks rendered manifests: schemas of Kubernetes, rules of our own, and the settings of each container by `mintlake config`."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

KUBERNETES = "1.34"
# Kinds of operators, whose schemas Kubernetes does not have.
CUSTOM = {"PodMonitor": "monitoring.coreos.com/v1", "PrometheusRule": "monitoring.coreos.com/v1"}

problems = []


def bad(where, what):
    problems.append(f"{where}: {what}")


def key(doc):
    return f"{doc['kind']}/{doc['metadata']['name']}"


def pod_of(doc):
    if doc["kind"] in ("Deployment", "StatefulSet", "Job"):
        return doc["spec"]["template"]
    return None


def check_schema(where, doc):
    if doc["kind"] in CUSTOM:
        if doc["apiVersion"] != CUSTOM[doc["kind"]]:
            bad(where, f"apiVersion {doc['apiVersion']}")
        if doc["kind"] == "PrometheusRule":
            rules = [rule for group in doc["spec"]["groups"] for rule in group["rules"]] if "groups" in doc["spec"] else []
            if len(rules) < 20 or not all("alert" in rule and "expr" in rule for rule in rules):
                bad(where, f"{len(rules)} alerts")
        return
    try:
        kubernetes_validate.validate(doc, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as e:
        bad(where, f"{'.'.join(str(p) for p in e.path)}: {e.message}")


def check_container(where, kind, container, pod):
    security = container.get("securityContext", {})
    for name, want in {
        "runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
    }.items():
        if security.get(name) != want:
            bad(where, f"securityContext.{name} is {security.get(name)}, must be {want}")
    if "memory" not in container.get("resources", {}).get("limits", {}):
        bad(where, "no memory limit")
    if not {"cpu", "memory"} <= container.get("resources", {}).get("requests", {}).keys():
        bad(where, "no cpu and memory requests")
    if kind != "Job":
        ports = {p["name"] for p in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if probe not in container:
                bad(where, f"no {probe}")
                continue
            ask = container[probe].get("httpGet") or container[probe]["tcpSocket"]
            if ask["port"] not in ports:
                bad(where, f"{probe} asks port {ask['port']}, which the container does not have")
    volumes = {v["name"] for v in pod["volumes"]} | {"data"}
    for mount in container["volumeMounts"]:
        if mount["name"] not in volumes:
            bad(where, f"mounts {mount['name']}, which is no volume")
    for env in container["env"]:
        # A value in plain is no place for a secret.
        if "value" in env and any(word in env["name"] for word in ("PASSWORD", "TOKEN", "DSN", "SHARED_URL")) and not env["name"].endswith("_FILE"):
            bad(where, f"{env['name']} is in plain")


def check_pod(where, kind, template):
    pod = template["spec"]
    if pod.get("automountServiceAccountToken") is not False:
        bad(where, "the token of the service account is mounted")
    if pod.get("enableServiceLinks") is not False:
        bad(where, "service links would set MINTLAKE_… variables, which Mintlake refuses")
    if not pod["securityContext"].get("runAsNonRoot") or not pod["securityContext"].get("runAsUser"):
        bad(where, "the pod may run as root")
    for container in pod["containers"]:
        check_container(f"{where}/{container['name']}", kind, container, pod)


def settings(doc, template, documents):
    """The environment that a container of Mintlake sees, with files of its mounts in a folder; secrets hold stand-ins."""
    container = template["spec"]["containers"][0]
    folder = pathlib.Path(tempfile.mkdtemp())
    volumes = {v["name"]: v for v in template["spec"]["volumes"]}
    moved = {}
    for mount in container["volumeMounts"]:
        volume = volumes.get(mount["name"], {})
        if "configMap" in volume:
            data = documents[f"ConfigMap/{volume['configMap']['name']}"]["data"]
            text = data[mount["subPath"]]
            path = folder / "mintlake.yaml"
            path.write_text(text)
            moved[mount["mountPath"]] = str(path)
        elif "secret" in volume:
            target = folder / mount["name"]
            target.mkdir()
            for item in volume["secret"]["items"]:
                (target / item["path"]).write_text(STAND_INS.get(item["path"], "secret"))
            moved[mount["mountPath"]] = str(target)
    env = {}
    for entry in container["env"]:
        if "valueFrom" in entry:
            env[entry["name"]] = STAND_INS[entry["name"]]
            continue
        value = entry["value"]
        for at, path in moved.items():
            value = value.replace(at, path)
        env[entry["name"]] = value
    config = folder / "mintlake.yaml"
    text = config.read_text()
    for volume in template["spec"]["volumes"]:
        for item in volume.get("secret", {}).get("items", []):
            at = f"/etc/mintlake/secrets/{volume['name']}/{item['path']}"
            if at not in text and at not in [e.get("value") for e in container["env"]]:
                bad(f"{doc['metadata']['name']}", f"no setting names {at}, which is mounted")
    for at, path in moved.items():
        text = text.replace(at, path)
    config.write_text(text)
    return container["args"], env


def certificate():
    """A certificate and its key in PEM, as the TLS settings are read when they are checked."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=test", "-keyout", f"{folder}/key", "-out", f"{folder}/cert"], check=True, capture_output=True)
        return pathlib.Path(f"{folder}/cert").read_text(), pathlib.Path(f"{folder}/key").read_text()


STAND_INS = {
    "dsn": "clickhouse://u:p@clickhouse.example:9440/?secure=true", "url": "rediss://valkey.example:6380",
    "MINTLAKE_RPC_UPSTREAM": "https://rpc.example/?key=x", "MINTLAKE_RPC_KEYS": "a:" + "0" * 64, "MINTLAKE_SWAP_KEYS": "a:" + "0" * 64,
}


def check_settings(where, mintlake, doc, template, documents):
    args, env = settings(doc, template, documents)
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MINTLAKE_")}
    helped = subprocess.run([mintlake, *args, "--help"], capture_output=True, text=True, env=plain, check=False)
    if helped.returncode or f"mintlake {args[0]}" not in helped.stdout:
        bad(where, f"mintlake {' '.join(args)} is no command: {helped.stderr.strip()}")
    said = subprocess.run([mintlake, "config", *args[1:]], capture_output=True, text=True, env=plain | env, check=False)
    if said.returncode:
        bad(where, said.stderr.strip())
    dump = subprocess.run([mintlake, "config", "--dump", *args[1:]], capture_output=True, text=True, env=plain | env, check=False)
    return yaml.safe_load(dump.stdout) if dump.returncode == 0 else None


def seconds(text):
    total, number = 0.0, ""
    for char in text:
        if char.isdigit() or char == ".":
            number += char
        else:
            total += float(number) * {"h": 3600, "m": 60, "s": 1}[char]
            number = ""
    return total


def check_room(where, template, config):
    """The drain of the product, that of Kubernetes and the time before the kill fit together."""
    pod, container = template["spec"], template["spec"]["containers"][0]
    before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    drain = seconds(config["api"]["drain_time"]) if container["args"] == ["api"] else 0
    need = before + drain + seconds(config["stop_timeout"])
    if pod["terminationGracePeriodSeconds"] <= need:
        bad(where, f"killed after {pod['terminationGracePeriodSeconds']} s, its drain and stop take up to {need} s")
    if container["args"][0] in ("api", "gateway", "swap") and before + drain < 5:
        bad(where, "no drain: requests fail while the pod is taken out of the service")
    listens = {config[c]["addr"].rsplit(":", 1)[1]: c for c in ("api", "swap", "rpc", "stream", "metrics")}
    listens[config["rpc"]["ws_addr"].rsplit(":", 1)[1]] = "rpc_ws"
    for port in container["ports"]:
        if str(port["containerPort"]) not in listens:
            bad(where, f"nothing listens on port {port['containerPort']}")


# What the rooms must be told by these sets of values: set, variable that a room must have for it to
# matter, setting, the value's end.
EXPECTED = [
    ("bundled", None, "kafka.partitions", 4),
    ("external", "MINTLAKE_CLICKHOUSE_DSN_FILE", "clickhouse.tls.ca_file", "/ca.crt"),
    ("external", "MINTLAKE_RATE_LIMITS_SHARED_URL_FILE", "rate_limits.shared_ca_file", "/ca.crt"),
    ("external", None, "kafka.sasl.mechanism", "scram-sha-512"),
    ("msk", None, "kafka.partitions", 12),
    ("msk", None, "kafka.sasl.mechanism", "aws-msk-iam"),
    ("msk", "MINTLAKE_CLICKHOUSE_DSN_FILE", "clickhouse.tls.ca_file", "/ca.crt"),
    ("msk", "MINTLAKE_CLICKHOUSE_DSN_FILE", "clickhouse.tls.cert_file", "/tls.crt"),
    ("msk", "MINTLAKE_CLICKHOUSE_DSN_FILE", "clickhouse.tls.key_file", "/tls.key"),
    ("msk", "MINTLAKE_CLICKHOUSE_DSN_FILE", "clickhouse.tls.server_name", "clickhouse.example"),
]
seen = set()


def check_expected(where, name, template, config):
    variables = {e["name"] for e in template["spec"]["containers"][0]["env"]}
    for expected in EXPECTED:
        of, variable, setting, want = expected
        if of != name or variable and variable not in variables:
            continue
        seen.add(expected)
        value = config
        for word in setting.split("."):
            value = value[word]
        if value != want and not str(value).endswith(str(want)):
            bad(where, f"{setting} is {value!r}, must be {want!r}")


def check_file(path, mintlake):
    docs = [d for d in yaml.safe_load_all(path.read_text()) if d]
    documents = {}
    for doc in docs:
        if key(doc) in documents:
            bad(path.stem, f"{key(doc)} twice")
        documents[key(doc)] = doc
    for name, doc in documents.items():
        where = f"{path.stem} {name}"
        check_schema(where, doc)
        template = pod_of(doc)
        if template is None:
            continue
        check_pod(where, doc["kind"], template)
        if template["spec"]["containers"][0]["name"] in ("mintlake", "migrate"):
            config = check_settings(where, mintlake, doc, template, documents)
            if config:
                check_expected(where, path.stem, template, config)
            if config and doc["kind"] == "Deployment":
                check_room(where, template, config)
    check_whole(path.stem, documents)
    return len(docs)


def check_whole(where, documents):
    """What one object says of another is so."""
    pods = {n: d["spec"]["template"]["metadata"]["labels"] for n, d in documents.items() if d["kind"] in ("Deployment", "StatefulSet", "Job")}
    for name, doc in documents.items():
        selector = None
        if doc["kind"] == "Service":
            selector = doc["spec"]["selector"]
        elif doc["kind"] in ("PodDisruptionBudget", "Deployment", "StatefulSet"):
            selector = doc["spec"]["selector"]["matchLabels"]
        elif doc["kind"] == "NetworkPolicy":
            selector = doc["spec"]["podSelector"]["matchLabels"]
        if selector is None:
            continue
        chosen = [p for p, labels in pods.items() if selector.items() <= labels.items()]
        disabled = doc["kind"] == "NetworkPolicy"  # of a room that is turned off
        if len(chosen) > 1 or not chosen and not disabled:
            bad(f"{where} {name}", f"selects {chosen}, must be one")
    for name, labels in pods.items():
        if not any(d["kind"] == "NetworkPolicy" and d["spec"]["podSelector"]["matchLabels"].items() <= labels.items() for d in documents.values()):
            bad(f"{where} {name}", "no network policy")
    for name, doc in documents.items():
        if doc["kind"] == "HorizontalPodAutoscaler" and f"Deployment/{doc['spec']['scaleTargetRef']['name']}" not in documents:
            bad(f"{where} {name}", "scales nothing")
        if doc["kind"] == "HorizontalPodAutoscaler" and "replicas" in documents[f"Deployment/{doc['spec']['scaleTargetRef']['name']}"]["spec"]:
            bad(f"{where} {name}", "the deployment names replicas too: an upgrade would undo the scaling")
        if doc["kind"] == "Ingress":
            for rule in doc["spec"]["rules"]:
                for at in rule["http"]["paths"]:
                    service = documents.get(f"Service/{at['backend']['service']['name']}")
                    if not service or at["backend"]["service"]["port"]["name"] not in [p["name"] for p in service["spec"]["ports"]]:
                        bad(f"{where} {name}", f"{rule['host']} goes nowhere")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mintlake", required=True)
    parser.add_argument("manifests", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    cert, private = certificate()
    STAND_INS.update({"ca.crt": cert, "tls.crt": cert, "tls.key": private})
    for path in options.manifests:
        count = check_file(path, options.mintlake)
        print(f"{path.stem}: {count} manifests")
    for expected in EXPECTED:
        if expected not in seen:
            bad(expected[0], f"no room has {expected[1] or 'settings'}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
