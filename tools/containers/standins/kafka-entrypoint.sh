#!/usr/bin/env bash
# Apache Kafka's official image turns each variable KAFKA_SOME_NAME into the setting some.name, formats the log folder once and
# starts the server. This does the same. __ is _ and ___ is - in a name, as there.
set -euo pipefail
config=/opt/kafka/config/server.properties
: >"$config"
while IFS='=' read -r -d '' name value; do
  case $name in
    KAFKA_HEAP_OPTS | KAFKA_OPTS | KAFKA_VERSION) ;;
    KAFKA_*)
      key=${name#KAFKA_}
      key=${key,,}
      key=${key//___/-}
      key=${key//__/$'\x01'}
      key=${key//_/.}
      key=${key//$'\x01'/_}
      printf '%s=%s\n' "$key" "${value//$'\n'/\\n}" >>"$config"
      ;;
  esac
done < <(env -0)
grep -q '^log.dirs=' "$config" || echo 'log.dirs=/tmp/kraft-combined-logs' >>"$config"
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" -c "$config"
exec java ${KAFKA_HEAP_OPTS:--Xmx512m} ${KAFKA_OPTS:-} -cp '/opt/kafka/libs/*' kafka.Kafka "$config"
