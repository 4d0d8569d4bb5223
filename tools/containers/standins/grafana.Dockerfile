# Stand-in for grafana/grafana: loads the provisioning, and runs every query of every dashboard. It draws nothing.
FROM mintlake-standin-base
COPY grafana-standin /usr/local/bin/
USER 65534:65534
EXPOSE 3000
LABEL mintlake.standin=grafana
ENTRYPOINT ["grafana-standin"]
