# Stand-in for apache/kafka: the jars that Maven delivers, behind the official image's paths and variables.
FROM mintlake-standin-base
COPY jars /opt/kafka/libs
COPY kafka-entrypoint.sh /opt/kafka/entrypoint.sh
COPY kafka-run.sh /opt/kafka/bin/
RUN useradd --uid 1000 appuser && mkdir -p /var/lib/kafka/data /opt/kafka/config && chown -R appuser /var/lib/kafka /opt/kafka/config \
 && for tool in kafka-topics kafka-consumer-groups kafka-configs kafka-storage kafka-broker-api-versions; do \
      ln -s kafka-run.sh "/opt/kafka/bin/$tool.sh"; done
USER appuser
VOLUME /var/lib/kafka/data
EXPOSE 9092
LABEL mintlake.standin=kafka
ENTRYPOINT ["bash", "/opt/kafka/entrypoint.sh"]
