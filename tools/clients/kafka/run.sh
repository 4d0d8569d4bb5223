#!/usr/bin/env bash
# Clients of Kafka against the embedded broker: librdkafka (confluent-kafka) and kafka-python, with their defaults. franz-go is a Go
# test: embedded/kafka/franz_test.go.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$MINTLAKE_CLIENTS_CACHE/kafka-$(sha256sum "$here/requirements.txt" | cut -c1-16)
python=$venv/bin/python
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$here/../../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  touch "$venv/done"
fi
for client in confluent python; do
  echo "$client: topics, records in every compression, a group, offsets"
  "$python" "$here/${client}_client.py" "$MINTLAKE_KAFKA"
done
