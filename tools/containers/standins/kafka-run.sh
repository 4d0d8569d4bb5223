#!/usr/bin/env bash
# Apache Kafka's command-line tools, by the names that they have in its distribution.
case "$(basename "$0" .sh)" in
  kafka-topics) class=org.apache.kafka.tools.TopicCommand ;;
  kafka-consumer-groups) class=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
  kafka-configs) class=kafka.admin.ConfigCommand ;;
  kafka-storage) class=kafka.tools.StorageTool ;;
  kafka-broker-api-versions) class=org.apache.kafka.tools.BrokerApiVersionsCommand ;;
  *)
    class=$1
    shift
    ;;
esac
exec java -Xmx256m ${KAFKA_OPTS:-} -cp '/opt/kafka/libs/*' "$class" "$@"
